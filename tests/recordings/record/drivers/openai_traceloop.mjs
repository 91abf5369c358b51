/** OpenAI's client with OpenLLMetry for JavaScript, in a loop whose agent and tools are Traceloop's spans. */
import * as traceloop from "@traceloop/node-server-sdk";
import OpenAI from "openai";
import { INSTRUCTIONS, MODEL, RecordLocked, SESSION, TOOLS, TURNS } from "./shop.mjs";

traceloop.initialize({
  appName: "orla-support",
  apiKey: "none",
  baseUrl: process.env.OTEL_EXPORTER_OTLP_ENDPOINT,
  instrumentModules: { openAI: OpenAI },
  traceloopSyncEnabled: false,
});
const client = new OpenAI({ maxRetries: 0 });
const tools = Object.entries(TOOLS).map(([name, { description, types }]) => ({
  type: "function",
  function: {
    name,
    description,
    parameters: {
      type: "object",
      properties: Object.fromEntries(Object.entries(types).map(([key, type]) => [key, { type }])),
      required: Object.keys(types),
    },
  },
}));
const messages = [{ role: "system", content: INSTRUCTIONS }];

async function run({ name, arguments: given }) {
  try {
    return JSON.stringify(await traceloop.withTool({ name }, TOOLS[name].run, JSON.parse(given)));
  } catch (error) {
    if (error instanceof RecordLocked) return `Error: ${error.message}`;
    throw error;
  }
}

async function answer(question) {
  messages.push({ role: "user", content: question });
  for (;;) {
    const reply = await client.chat.completions.create({ model: MODEL, messages, tools });
    const said = reply.choices[0].message;
    messages.push(said);
    if (!said.tool_calls?.length) return said.content;
    for (const call of said.tool_calls)
      messages.push({ role: "tool", tool_call_id: call.id, content: await run(call.function) });
  }
}

try {
  for (const turn of TURNS)
    console.log(
      await traceloop.withConversation(SESSION, () =>
        traceloop.withAgent({ name: "orla" }, answer, turn),
      ),
    );
} finally {
  await traceloop.forceFlush();
}

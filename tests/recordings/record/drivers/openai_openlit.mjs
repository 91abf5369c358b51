/** OpenAI's client in a loop of one's own, with OpenLIT's SDK; there are no spans but those of the client. */
import { trace } from "@opentelemetry/api";
import OpenAI from "openai";
import openlit from "openlit";
import { INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS } from "./shop.mjs";

(openlit.default ?? openlit).init({ applicationName: "orla-support", instrumentations: { openai: OpenAI } });
const client = new OpenAI({ apiKey: "none", baseURL: `${MODEL_URL}/v1`, maxRetries: 0 });
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

async function run(call) {
  const input = JSON.parse(call.function.arguments);
  try {
    return await TOOLS[call.function.name].run(input);
  } catch (error) {
    return `Error: ${error.message}`;
  }
}

async function answer(turn) {
  messages.push({ role: "user", content: turn });
  for (;;) {
    const done = await client.chat.completions.create({ model: MODEL, messages, tools });
    const said = done.choices[0].message;
    messages.push(said);
    if (!said.tool_calls) return said.content;
    for (const call of said.tool_calls) {
      const result = await run(call);
      const content = typeof result === "string" ? result : JSON.stringify(result);
      messages.push({ role: "tool", tool_call_id: call.id, content });
    }
  }
}

try {
  for (const turn of TURNS) console.log(await answer(turn));
} finally {
  await trace.getTracerProvider().getDelegate().shutdown();
}

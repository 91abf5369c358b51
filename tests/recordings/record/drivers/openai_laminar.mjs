/** OpenAI's client in a loop of one's own with Laminar, which finds its server where the environment says. */
import { Laminar, observe } from "@lmnr-ai/lmnr";
import OpenAI from "openai";
import { INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS } from "./shop.mjs";

const { hostname, port } = new URL(process.env.OTEL_EXPORTER_OTLP_ENDPOINT);
Laminar.initialize({
  projectApiKey: "none",
  baseUrl: `http://${hostname}`,
  httpPort: Number(port),
  forceHttp: true,
  instrumentModules: { openAI: OpenAI },
});
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
  const { name, arguments: text } = call.function;
  try {
    const result = await observe({ name, spanType: "TOOL" }, async (input) => TOOLS[name].run(input), JSON.parse(text));
    return JSON.stringify(result);
  } catch (error) {
    return `Error: ${error.message}`;
  }
}

async function answer(turn) {
  messages.push({ role: "user", content: turn });
  for (;;) {
    const done = await client.chat.completions.create({ model: MODEL, messages, tools });
    const { message } = done.choices[0];
    messages.push(message);
    if (!message.tool_calls?.length) return message.content;
    for (const call of message.tool_calls)
      messages.push({ role: "tool", tool_call_id: call.id, content: await run(call) });
  }
}

try {
  for (const turn of TURNS) console.log(await observe({ name: "orla", sessionId: SESSION }, answer, turn));
} finally {
  await Laminar.shutdown();
}

/** Anthropic's client in a loop of one's own, with Traceloop's SDK: agent and tools are its wrappers. */
import Anthropic from "@anthropic-ai/sdk";
import * as anthropic from "@anthropic-ai/sdk";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import * as traceloop from "@traceloop/node-server-sdk";
import { INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS } from "./shop.mjs";

traceloop.initialize({
  appName: "orla-support",
  exporter: new OTLPTraceExporter(),
  disableBatch: true,
  traceloopSyncEnabled: false,
  silenceInitializationMessage: true,
  instrumentModules: { anthropic },
});
const client = new Anthropic({ apiKey: "none", baseURL: MODEL_URL, maxRetries: 0 });
const tools = Object.entries(TOOLS).map(([name, { description, types }]) => ({
  name,
  description,
  input_schema: {
    type: "object",
    properties: Object.fromEntries(Object.entries(types).map(([key, type]) => [key, { type }])),
    required: Object.keys(types),
  },
}));
const messages = [];

async function run(call) {
  const about = { type: "tool_result", tool_use_id: call.id };
  try {
    const result = await traceloop.withTool({ name: call.name }, TOOLS[call.name].run, call.input);
    return { ...about, content: JSON.stringify(result) };
  } catch (error) {
    return { ...about, content: `Error: ${error.message}`, is_error: true };
  }
}

async function answer(turn) {
  messages.push({ role: "user", content: turn });
  for (;;) {
    const said = await client.messages.create({
      model: MODEL,
      max_tokens: 1024,
      system: INSTRUCTIONS,
      messages,
      tools,
    });
    messages.push({ role: "assistant", content: said.content });
    const calls = said.content.filter((part) => part.type === "tool_use");
    if (!calls.length) return said.content.map((part) => part.text).join("");
    const results = [];
    for (const call of calls) results.push(await run(call));
    messages.push({ role: "user", content: results });
  }
}

try {
  for (const turn of TURNS) console.log(await traceloop.withAgent({ name: "orla" }, answer, turn));
} finally {
  await traceloop.forceFlush();
}

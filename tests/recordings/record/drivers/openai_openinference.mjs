/** OpenAI's client in a loop of one's own, with OpenInference; agent and tools are in its wrappers. */
import { setSession, traceAgent, traceTool } from "@arizeai/openinference-core";
import { OpenAIInstrumentation } from "@arizeai/openinference-instrumentation-openai";
import { context } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { detectResources, envDetector } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import OpenAI from "openai";
import { INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS } from "./shop.mjs";

const traces = new NodeTracerProvider({
  resource: detectResources({ detectors: [envDetector] }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
traces.register();
new OpenAIInstrumentation({ tracerProvider: traces }).manuallyInstrument(OpenAI);

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
const runs = Object.fromEntries(
  Object.entries(TOOLS).map(([name, { run }]) => [name, traceTool(async (input) => run(input), { name })]),
);
const messages = [{ role: "system", content: INSTRUCTIONS }];

async function run(call) {
  try {
    return JSON.stringify(await runs[call.function.name](JSON.parse(call.function.arguments)));
  } catch (error) {
    return `Error: ${error.message}`;
  }
}

const answer = traceAgent(
  async (turn) => {
    messages.push({ role: "user", content: turn });
    for (;;) {
      const done = await client.chat.completions.create({ model: MODEL, messages, tools });
      const { message } = done.choices[0];
      messages.push(message);
      if (!message.tool_calls?.length) return message.content;
      for (const call of message.tool_calls)
        messages.push({ role: "tool", tool_call_id: call.id, content: await run(call) });
    }
  },
  { name: "orla" },
);

try {
  for (const turn of TURNS) {
    const session = setSession(context.active(), { sessionId: SESSION });
    console.log(await context.with(session, () => answer(turn)));
  }
} finally {
  await traces.shutdown();
}

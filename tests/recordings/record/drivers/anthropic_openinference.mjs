/** Anthropic's client in a loop of one's own, with OpenInference; agent and tools are in its wrappers. */
import Anthropic from "@anthropic-ai/sdk";
import { setSession, traceAgent, traceTool } from "@arizeai/openinference-core";
import { AnthropicInstrumentation } from "@arizeai/openinference-instrumentation-anthropic";
import { context } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { detectResources, envDetector } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS } from "./shop.mjs";

const traces = new NodeTracerProvider({
  resource: detectResources({ detectors: [envDetector] }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
traces.register();
new AnthropicInstrumentation({ tracerProvider: traces }).manuallyInstrument(Anthropic);

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
const runs = Object.fromEntries(
  Object.entries(TOOLS).map(([name, { run }]) => [name, traceTool(async (input) => run(input), { name })]),
);
const messages = [];

async function run(call) {
  const about = { type: "tool_result", tool_use_id: call.id };
  try {
    return { ...about, content: JSON.stringify(await runs[call.name](call.input)) };
  } catch (error) {
    return { ...about, content: `Error: ${error.message}`, is_error: true };
  }
}

const answer = traceAgent(
  async (turn) => {
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

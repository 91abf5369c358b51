/** OpenAI's Agents SDK for JavaScript with OpenInference, over the Responses API. */
import * as agents from "@openai/agents";
import { OpenAIAgentsInstrumentation } from "@arizeai/openinference-instrumentation-openai-agents";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { INSTRUCTIONS, MODEL, SCENARIO, TOOLS, TRIAGE, TURNS } from "./shop.mjs";

const traces = new NodeTracerProvider({
  resource: resourceFromAttributes({ "service.name": "orla-support" }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
traces.register();
new OpenAIAgentsInstrumentation({ tracerProvider: traces }).manuallyInstrument(agents);

const tools = Object.entries(TOOLS).map(([name, { description, types, run }]) =>
  agents.tool({
    name,
    description,
    strict: true,
    parameters: {
      type: "object",
      properties: Object.fromEntries(Object.entries(types).map(([key, type]) => [key, { type }])),
      required: Object.keys(types),
      additionalProperties: false,
    },
    execute: async (input) => run(input),
  }),
);
let agent = new agents.Agent({ name: "orla", instructions: INSTRUCTIONS, model: MODEL, tools });
if (SCENARIO === "handoff")
  agent = agents.Agent.create({
    name: "triage",
    instructions: TRIAGE,
    model: MODEL,
    handoffs: [agent],
  });
const session = new agents.MemorySession();
try {
  for (const turn of TURNS) console.log((await agents.run(agent, turn, { session })).finalOutput);
} finally {
  await traces.shutdown();
}

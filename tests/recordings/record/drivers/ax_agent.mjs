/** ax's generator with tools of its user's and the spans that it makes. */
import { trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { AxMemory, ai, ax, axGlobals } from "@ax-llm/ax";
import { INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS } from "./shop.mjs";

const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ "service.name": "orla-support" }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
provider.register();
axGlobals.tracer = trace.getTracer("orla-support");

const kinds = { string: "string", integer: "number" };
const functions = Object.entries(TOOLS).map(([name, { description, types, run }]) => ({
  name,
  description,
  parameters: {
    type: "object",
    properties: Object.fromEntries(
      Object.entries(types).map(([key, type]) => [key, { type: kinds[type], description: key }]),
    ),
    required: Object.keys(types),
  },
  func: async (given) => run(given),
}));
const llm = ai({
  name: "openai",
  apiKey: "none",
  apiURL: `${MODEL_URL}/v1`,
  config: { model: MODEL, stream: false },
});
const orla = ax("question:string -> answer:string", { functions });
orla.setInstruction(INSTRUCTIONS);
const memory = new AxMemory();
try {
  for (const turn of TURNS) {
    const asked = { mem: memory, sessionId: SESSION, stream: false, maxRetries: 0 };
    const done = await orla.forward(llm, { question: turn }, asked);
    console.log(done.answer);
  }
} finally {
  await provider.shutdown();
}

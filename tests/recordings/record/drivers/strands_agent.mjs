/** Strands' agent for JavaScript, with the spans of its own. */
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { Agent, tool } from "@strands-agents/sdk";
import { OpenAIModel } from "@strands-agents/sdk/models/openai";
import { z } from "zod";
import { INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS } from "./shop.mjs";

const provider = new NodeTracerProvider({
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
provider.register();
const kinds = { string: () => z.string(), integer: () => z.number().int() };
const tools = Object.entries(TOOLS).map(([name, { description, types, run }]) => {
  const shape = Object.entries(types).map(([key, kind]) => [key, kinds[kind]()]);
  return tool({
    name,
    description,
    inputSchema: z.object(Object.fromEntries(shape)),
    callback: (input) => run(input),
  });
});
const agent = new Agent({
  name: "orla",
  model: new OpenAIModel({
    api: "chat",
    modelId: MODEL,
    apiKey: "none",
    clientConfig: { baseURL: `${MODEL_URL}/v1`, maxRetries: 0 },
  }),
  systemPrompt: INSTRUCTIONS,
  tools,
  traceAttributes: { "session.id": SESSION },
  printer: false,
});
try {
  for (const turn of TURNS) console.log(String(await agent.invoke(turn)));
} finally {
  await provider.shutdown();
}

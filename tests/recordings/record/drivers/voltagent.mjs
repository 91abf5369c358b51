/** VoltAgent's agent, with the spans of its own. */
import { openai } from "@ai-sdk/openai";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { Agent, VoltAgent, VoltAgentObservability, createTool } from "@voltagent/core";
import { z } from "zod";
import { INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS } from "./shop.mjs";

const observability = new VoltAgentObservability({
  serviceName: "orla-support",
  serviceVersion: "1.4.2",
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
const kinds = { string: () => z.string(), integer: () => z.number().int() };
const tools = Object.entries(TOOLS).map(([name, { description, types, run }]) => {
  const shape = Object.entries(types).map(([key, kind]) => [key, kinds[kind]()]);
  return createTool({
    name,
    description,
    parameters: z.object(Object.fromEntries(shape)),
    execute: async (input) => run(input),
  });
});
const orla = new Agent({
  name: "orla",
  instructions: INSTRUCTIONS,
  model: openai.chat(MODEL),
  tools,
  maxSteps: 10,
  maxRetries: 0,
  observability,
});
new VoltAgent({ agents: { orla }, observability });
try {
  for (const turn of TURNS) {
    const { text } = await orla.generateText(turn, { userId: "u-1", conversationId: SESSION });
    console.log(text);
  }
} finally {
  await observability.shutdown();
}
process.exit();

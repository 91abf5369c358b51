/** Vercel's AI SDK with Axiom's wrappers of model and tools, exported to where the environment says. */
import { createOpenAI } from "@ai-sdk/openai";
import { trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { envDetector, detectResources } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { generateText, jsonSchema, stepCountIs, tool } from "ai";
import { initAxiomAI, withSpan, wrapAISDKModel, wrapTools } from "axiom/ai";
import { INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS } from "./shop.mjs";

const traces = new NodeTracerProvider({
  resource: detectResources({ detectors: [envDetector] }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
traces.register();
initAxiomAI({ tracer: trace.getTracer("orla-support") });

const tools = {};
for (const [id, { description, types, run }] of Object.entries(TOOLS)) {
  const properties = Object.fromEntries(
    Object.entries(types).map(([name, type]) => [name, { type }]),
  );
  tools[id] = tool({
    description,
    inputSchema: jsonSchema({ type: "object", properties, required: Object.keys(types) }),
    execute: async (input) => run(input),
  });
}
const wrapped = wrapTools(tools);
const openai = createOpenAI({ apiKey: "none", baseURL: `${MODEL_URL}/v1` });
const model = wrapAISDKModel(openai.chat(MODEL));
const messages = [];

async function answer(turn) {
  messages.push({ role: "user", content: turn });
  const done = await generateText({
    model,
    system: INSTRUCTIONS,
    messages,
    tools: wrapped,
    stopWhen: stepCountIs(10),
    maxRetries: 0,
  });
  messages.push(...done.response.messages);
  return done.text;
}

try {
  for (const turn of TURNS)
    console.log(
      await withSpan({ capability: "orla", step: "answer", conversationId: SESSION }, () =>
        answer(turn),
      ),
    );
} finally {
  await traces.forceFlush();
  await traces.shutdown();
}

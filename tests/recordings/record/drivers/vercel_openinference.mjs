/** Vercel's AI SDK with OpenInference, which rewrites the spans that it makes. */
import { OpenInferenceSimpleSpanProcessor } from "@arizeai/openinference-vercel";
import { createOpenAI } from "@ai-sdk/openai";
import { OpenTelemetry } from "@ai-sdk/otel";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { generateText, jsonSchema, registerTelemetry, stepCountIs, tool } from "ai";
import { INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS } from "./shop.mjs";

const traces = new NodeTracerProvider({
  spanProcessors: [new OpenInferenceSimpleSpanProcessor({ exporter: new OTLPTraceExporter() })],
});
traces.register();
registerTelemetry(new OpenTelemetry({ usage: true, providerMetadata: true, runtimeContext: true }));
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
const openai = createOpenAI({ apiKey: "none", baseURL: `${MODEL_URL}/v1` });
const messages = [];
try {
  for (const turn of TURNS) {
    messages.push({ role: "user", content: turn });
    const done = await generateText({
      model: openai.chat(MODEL),
      system: INSTRUCTIONS,
      messages,
      tools,
      stopWhen: stepCountIs(10),
      maxRetries: 0,
      telemetry: { functionId: "orla" },
    });
    messages.push(...done.response.messages);
    console.log(done.text);
  }
} finally {
  await traces.forceFlush();
  await traces.shutdown();
}

/** Vercel's AI SDK with Langfuse's integration, whose processor exports to where the environment says. */
import { createOpenAI } from "@ai-sdk/openai";
import { LangfuseSpanProcessor } from "@langfuse/otel";
import { propagateAttributes } from "@langfuse/tracing";
import { LangfuseVercelAiSdkIntegration } from "@langfuse/vercel-ai-sdk";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { NodeSDK } from "@opentelemetry/sdk-node";
import { generateText, jsonSchema, registerTelemetry, stepCountIs, tool } from "ai";
import { INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS } from "./shop.mjs";

const processor = new LangfuseSpanProcessor({
  publicKey: "pk-none",
  secretKey: "sk-none",
  baseUrl: "http://127.0.0.1:9",
  exporter: new OTLPTraceExporter(),
});
const sdk = new NodeSDK({ spanProcessors: [processor] });
sdk.start();
registerTelemetry(new LangfuseVercelAiSdkIntegration());

const tools = {};
for (const [id, { description, types, run }] of Object.entries(TOOLS)) {
  const properties = Object.fromEntries(
    Object.entries(types).map(([name, type]) => [name, { type }]),
  );
  tools[id] = tool({
    description,
    inputSchema: jsonSchema({
      type: "object",
      properties,
      required: Object.keys(types),
      additionalProperties: false,
    }),
    execute: async (input) => run(input),
  });
}
const openai = createOpenAI({ apiKey: "none", baseURL: `${MODEL_URL}/v1` });
const messages = [];

async function answer(turn) {
  messages.push({ role: "user", content: turn });
  const done = await generateText({
    model: openai(MODEL),
    system: INSTRUCTIONS,
    messages,
    tools,
    stopWhen: stepCountIs(10),
    maxRetries: 0,
    telemetry: { functionId: "orla" },
  });
  messages.push(...done.response.messages);
  return done.text;
}

try {
  for (const turn of TURNS)
    console.log(
      await propagateAttributes({ sessionId: SESSION, userId: "u-1" }, () => answer(turn)),
    );
} finally {
  await sdk.shutdown();
}

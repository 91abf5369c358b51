/** OpenAI's client, asked for responses in a loop of one's own, with OpenTelemetry's instrumentation for Node. */
import { register } from "node:module";
import { SpanKind, trace } from "@opentelemetry/api";
import { logs } from "@opentelemetry/api-logs";
import { OpenAIInstrumentation } from "@opentelemetry/instrumentation-openai";
import { NodeSDK } from "@opentelemetry/sdk-node";
import { INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS } from "./shop.mjs";

register("@opentelemetry/instrumentation/hook.mjs", import.meta.url);
const instrumentation = new OpenAIInstrumentation();
const sdk = new NodeSDK({ instrumentations: [instrumentation] });
sdk.start();
// The instrumentation may have a copy of the API of logs for itself, which does not know the SDK's provider.
instrumentation.setLoggerProvider(logs.getLoggerProvider());
const { default: OpenAI } = await import("openai");

const client = new OpenAI({ apiKey: "none", baseURL: `${MODEL_URL}/v1`, maxRetries: 0 });
const tools = Object.entries(TOOLS).map(([name, { description, types }]) => ({
  type: "function",
  name,
  description,
  strict: true,
  parameters: {
    type: "object",
    properties: Object.fromEntries(Object.entries(types).map(([key, type]) => [key, { type }])),
    required: Object.keys(types),
    additionalProperties: false,
  },
}));
const input = [];

function run(call) {
  try {
    return JSON.stringify(TOOLS[call.name].run(JSON.parse(call.arguments)));
  } catch (error) {
    return `Error: ${error.message}`;
  }
}

async function answer(turn) {
  input.push({ role: "user", content: turn });
  for (;;) {
    const done = await client.responses.create({
      model: MODEL,
      instructions: INSTRUCTIONS,
      input,
      tools,
    });
    input.push(...done.output);
    const calls = done.output.filter((item) => item.type === "function_call");
    if (!calls.length) return done.output_text;
    for (const call of calls)
      input.push({ type: "function_call_output", call_id: call.call_id, output: run(call) });
  }
}

const tracer = trace.getTracer("shop.web", "1.4.2");
try {
  for (const turn of TURNS)
    await tracer.startActiveSpan("POST /chat", { kind: SpanKind.SERVER }, async (span) => {
      try {
        console.log(await answer(turn));
      } finally {
        span.end();
      }
    });
} finally {
  await sdk.shutdown();
}

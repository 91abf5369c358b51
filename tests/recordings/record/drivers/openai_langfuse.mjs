/** OpenAI's client in a loop of one's own, wrapped by Langfuse, whose processor exports to where the environment says. */
import { observeOpenAI } from "@langfuse/openai";
import { LangfuseSpanProcessor } from "@langfuse/otel";
import { propagateAttributes, startActiveObservation } from "@langfuse/tracing";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { NodeSDK } from "@opentelemetry/sdk-node";
import OpenAI from "openai";
import { INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS } from "./shop.mjs";

const processor = new LangfuseSpanProcessor({
  publicKey: "pk-none",
  secretKey: "sk-none",
  baseUrl: "http://127.0.0.1:9",
  exporter: new OTLPTraceExporter(),
});
const sdk = new NodeSDK({ spanProcessors: [processor] });
sdk.start();

const client = observeOpenAI(
  new OpenAI({ apiKey: "none", baseURL: `${MODEL_URL}/v1`, maxRetries: 0 }),
);
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
const messages = [{ role: "system", content: INSTRUCTIONS }];

function run(call) {
  const { name, arguments: text } = call.function;
  return startActiveObservation(
    name,
    (tool) => {
      const input = JSON.parse(text);
      tool.update({ input });
      try {
        const output = TOOLS[name].run(input);
        tool.update({ output });
        return JSON.stringify(output);
      } catch (error) {
        tool.update({ level: "ERROR", statusMessage: error.message });
        return `Error: ${error.message}`;
      }
    },
    { asType: "tool" },
  );
}

async function answer() {
  for (;;) {
    const done = await client.chat.completions.create({ model: MODEL, messages, tools });
    const { message } = done.choices[0];
    messages.push(message);
    if (!message.tool_calls?.length) return message.content;
    for (const call of message.tool_calls)
      messages.push({ role: "tool", tool_call_id: call.id, content: run(call) });
  }
}

try {
  for (const turn of TURNS) {
    messages.push({ role: "user", content: turn });
    await propagateAttributes({ sessionId: SESSION }, () =>
      startActiveObservation(
        "orla",
        async (agent) => {
          agent.update({ input: turn });
          const output = await answer();
          agent.update({ output });
          console.log(output);
        },
        { asType: "agent" },
      ),
    );
  }
} finally {
  await sdk.shutdown();
}

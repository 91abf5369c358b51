/** LangChain's agent for JavaScript with Langfuse's callback, whose processor exports to where the environment says. */
import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { CallbackHandler } from "@langfuse/langchain";
import { LangfuseSpanProcessor } from "@langfuse/otel";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { NodeSDK } from "@opentelemetry/sdk-node";
import { createAgent, createMiddleware } from "langchain";
import { INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS } from "./shop.mjs";

const processor = new LangfuseSpanProcessor({
  publicKey: "pk-none",
  secretKey: "sk-none",
  baseUrl: "http://127.0.0.1:9",
  exporter: new OTLPTraceExporter(),
});
const sdk = new NodeSDK({ spanProcessors: [processor] });
sdk.start();

const tools = Object.entries(TOOLS).map(([name, { description, types, run }]) =>
  tool(async (input) => run(input), {
    name,
    description,
    schema: {
      type: "object",
      properties: Object.fromEntries(Object.entries(types).map(([key, type]) => [key, { type }])),
      required: Object.keys(types),
    },
  }),
);
const tellErrors = createMiddleware({
  name: "TellErrors",
  wrapToolCall: async (request, handler) => {
    try {
      return await handler(request);
    } catch (error) {
      return new ToolMessage({
        content: `Error: ${error.message}`,
        tool_call_id: request.toolCall.id,
        status: "error",
      });
    }
  },
});
const agent = createAgent({
  name: "orla",
  model: new ChatOpenAI({
    model: MODEL,
    apiKey: "none",
    maxRetries: 0,
    configuration: { baseURL: `${MODEL_URL}/v1` },
  }),
  tools,
  systemPrompt: INSTRUCTIONS,
  middleware: [tellErrors],
  checkpointer: new MemorySaver(),
});
try {
  for (const turn of TURNS) {
    const done = await agent.invoke(
      { messages: [{ role: "user", content: turn }] },
      {
        configurable: { thread_id: SESSION },
        callbacks: [new CallbackHandler({ sessionId: SESSION })],
      },
    );
    console.log(done.messages.at(-1).content);
  }
} finally {
  await sdk.shutdown();
}

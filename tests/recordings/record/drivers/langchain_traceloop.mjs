/** LangChain's agent for JavaScript with Traceloop's SDK. */
import * as callbackManagerModule from "@langchain/core/callbacks/manager";
import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import * as traceloop from "@traceloop/node-server-sdk";
import { createAgent, createMiddleware } from "langchain";
import { INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS } from "./shop.mjs";

traceloop.initialize({
  appName: "orla-support",
  exporter: new OTLPTraceExporter(),
  disableBatch: true,
  traceloopSyncEnabled: false,
  silenceInitializationMessage: true,
  instrumentModules: { langchain: { callbackManagerModule } },
});
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
async function answer(turn) {
  const done = await agent.invoke(
    { messages: [{ role: "user", content: turn }] },
    { configurable: { thread_id: SESSION } },
  );
  return done.messages.at(-1).content;
}

try {
  for (const turn of TURNS)
    console.log(
      await traceloop.withWorkflow(
        { name: "support", associationProperties: { session_id: SESSION } },
        answer,
        turn,
      ),
    );
} finally {
  await traceloop.forceFlush();
}

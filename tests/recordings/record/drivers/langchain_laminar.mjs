/** LangChain's agent for JavaScript with Laminar, which finds its server where the environment says. */
import * as callbackManagerModule from "@langchain/core/callbacks/manager";
import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { Laminar } from "@lmnr-ai/lmnr";
import { createAgent, createMiddleware } from "langchain";
import { INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS } from "./shop.mjs";

const { hostname, port } = new URL(process.env.OTEL_EXPORTER_OTLP_ENDPOINT);
Laminar.initialize({
  projectApiKey: "none",
  baseUrl: `http://${hostname}`,
  httpPort: Number(port),
  forceHttp: true,
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
try {
  for (const turn of TURNS) {
    const done = await agent.invoke(
      { messages: [{ role: "user", content: turn }] },
      {
        configurable: { thread_id: SESSION },
      },
    );
    console.log(done.messages.at(-1).content);
  }
} finally {
  await Laminar.shutdown();
}

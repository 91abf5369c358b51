/** LangChain's agent for JavaScript inside a function that LangSmith traces, exported to where the environment says. */
import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, createMiddleware } from "langchain";
import { initializeOTEL } from "langsmith/experimental/otel/setup";
import { traceable } from "langsmith/traceable";
import { INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS } from "./shop.mjs";

const { DEFAULT_LANGSMITH_SPAN_PROCESSOR } = initializeOTEL();

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
const orla = traceable(
  async (turn) => {
    const done = await agent.invoke(
      { messages: [{ role: "user", content: turn }] },
      { configurable: { thread_id: SESSION } },
    );
    return done.messages.at(-1).content;
  },
  { name: "orla", run_type: "chain", metadata: { session_id: SESSION } },
);
try {
  for (const turn of TURNS) console.log(await orla(turn));
} finally {
  await DEFAULT_LANGSMITH_SPAN_PROCESSOR.shutdown();
}

/** Vercel's AI SDK wrapped by LangSmith, exported to where the environment says. */
import { createOpenAI } from "@ai-sdk/openai";
import * as ai from "ai";
import { initializeOTEL } from "langsmith/experimental/otel/setup";
import { wrapAISDK } from "langsmith/experimental/vercel";
import { traceable } from "langsmith/traceable";
import { INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS } from "./shop.mjs";

const { DEFAULT_LANGSMITH_SPAN_PROCESSOR } = initializeOTEL();
const { generateText } = wrapAISDK(ai);
const { jsonSchema, stepCountIs, tool } = ai;

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

const orla = traceable(
  async (turn) => {
    messages.push({ role: "user", content: turn });
    const done = await generateText({
      model: openai(MODEL),
      system: INSTRUCTIONS,
      messages,
      tools,
      stopWhen: stepCountIs(10),
      maxRetries: 0,
    });
    messages.push(...done.response.messages);
    return done.text;
  },
  { name: "orla", run_type: "chain", metadata: { session_id: SESSION } },
);

try {
  for (const turn of TURNS) console.log(await orla(turn));
} finally {
  await DEFAULT_LANGSMITH_SPAN_PROCESSOR.shutdown();
}

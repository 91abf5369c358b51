/** OpenAI's client in a loop of one's own, wrapped and traced by LangSmith, exported to where the environment says. */
import { initializeOTEL } from "langsmith/experimental/otel/setup";
import { traceable } from "langsmith/traceable";
import { wrapOpenAI } from "langsmith/wrappers";
import OpenAI from "openai";
import { INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS } from "./shop.mjs";

const { DEFAULT_LANGSMITH_SPAN_PROCESSOR } = initializeOTEL();
const client = wrapOpenAI(
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
const traced = Object.fromEntries(
  Object.entries(TOOLS).map(([name, { run }]) => [
    name,
    traceable(async (input) => run(input), { name, run_type: "tool" }),
  ]),
);
const messages = [{ role: "system", content: INSTRUCTIONS }];

async function run(call) {
  try {
    return JSON.stringify(await traced[call.function.name](JSON.parse(call.function.arguments)));
  } catch (error) {
    return `Error: ${error.message}`;
  }
}

const orla = traceable(
  async (turn) => {
    messages.push({ role: "user", content: turn });
    for (;;) {
      const done = await client.chat.completions.create({ model: MODEL, messages, tools });
      const said = done.choices[0].message;
      messages.push(said);
      if (!said.tool_calls) return said.content;
      const results = await Promise.all(said.tool_calls.map(run));
      for (const [place, call] of said.tool_calls.entries())
        messages.push({ role: "tool", tool_call_id: call.id, content: results[place] });
    }
  },
  { name: "orla", run_type: "chain", metadata: { session_id: SESSION } },
);
try {
  for (const turn of TURNS) console.log(await orla(turn));
} finally {
  await DEFAULT_LANGSMITH_SPAN_PROCESSOR.shutdown();
}

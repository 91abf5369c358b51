/** OpenAI's client in a loop of one's own, with Sentry's SDK: it traces the requests, agent and tools as its guide says. */
import * as Sentry from "@sentry/node";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS } from "./shop.mjs";

const processor = new BatchSpanProcessor(new OTLPTraceExporter());
Sentry.init({
  dsn: "http://public@127.0.0.1:9/1",
  tracesSampleRate: 1,
  sendDefaultPii: true,
  openTelemetrySpanProcessors: [processor],
});
const { default: OpenAI } = await import("openai");

const client = Sentry.instrumentOpenAiClient(
  new OpenAI({ apiKey: "none", baseURL: `${MODEL_URL}/v1`, maxRetries: 0 }),
  { recordInputs: true, recordOutputs: true },
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

async function run(call) {
  const { name, arguments: input } = call.function;
  const attributes = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.request.model": MODEL,
    "gen_ai.agent.name": "orla",
    "gen_ai.tool.name": name,
    "gen_ai.tool.input": input,
  };
  try {
    return await Sentry.startSpan(
      { op: "gen_ai.execute_tool", name: `execute_tool ${name}`, attributes },
      async (span) => {
        const output = JSON.stringify(await TOOLS[name].run(JSON.parse(input)));
        span.setAttribute("gen_ai.tool.output", output);
        return output;
      },
    );
  } catch (error) {
    Sentry.captureException(error);
    return `Error: ${error.message}`;
  }
}

async function answer(turn) {
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
}

try {
  Sentry.setConversationId?.(SESSION);
  for (const turn of TURNS) {
    const attributes = {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.request.model": MODEL,
      "gen_ai.agent.name": "orla",
    };
    await Sentry.startSpan(
      { op: "gen_ai.invoke_agent", name: "invoke_agent orla", attributes },
      async () => console.log(await answer(turn)),
    );
  }
} finally {
  await processor.forceFlush();
}
process.exit();

/** Vercel's AI SDK with Laminar, whose SDK takes its telemetry and finds Laminar where the environment says. */
import { createOpenAI } from "@ai-sdk/openai";
import { Laminar, LaminarAiSdkTelemetry } from "@lmnr-ai/lmnr";
import { generateText, jsonSchema, registerTelemetry, stepCountIs, tool } from "ai";
import { INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS } from "./shop.mjs";

const { hostname, port } = new URL(process.env.OTEL_EXPORTER_OTLP_ENDPOINT);
Laminar.initialize({
  projectApiKey: "none",
  baseUrl: `http://${hostname}`,
  httpPort: Number(port),
  forceHttp: true,
});
registerTelemetry(new LaminarAiSdkTelemetry());

const tools = {};
for (const [id, { description, types, run }] of Object.entries(TOOLS)) {
  const properties = Object.fromEntries(
    Object.entries(types).map(([name, type]) => [name, { type }]),
  );
  tools[id] = tool({
    description,
    inputSchema: jsonSchema({ type: "object", properties, required: Object.keys(types) }),
    execute: async (input) => run(input),
  });
}
const openai = createOpenAI({ apiKey: "none", baseURL: `${MODEL_URL}/v1` });
const messages = [];
try {
  for (const turn of TURNS) {
    messages.push({ role: "user", content: turn });
    const done = await generateText({
      model: openai.chat(MODEL),
      system: INSTRUCTIONS,
      messages,
      tools,
      stopWhen: stepCountIs(10),
      maxRetries: 0,
      telemetry: { functionId: "orla" },
    });
    messages.push(...done.response.messages);
    console.log(done.text);
  }
} finally {
  await Laminar.shutdown();
}

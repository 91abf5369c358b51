/** Genkit's flow around a generation that calls the tools, with Gemini and Genkit's own spans. */
import { googleAI } from "@genkit-ai/google-genai";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { genkit, z } from "genkit";
import { enableTelemetry, flushTracing } from "genkit/tracing";
import { INSTRUCTIONS, MODEL, MODEL_URL, RecordLocked, TOOLS, TURNS } from "./shop.mjs";

await enableTelemetry({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
const ai = genkit({ plugins: [googleAI({ apiKey: "none", baseUrl: MODEL_URL })] });
const kinds = { string: () => z.string(), integer: () => z.number().int() };
const tools = Object.entries(TOOLS).map(([name, { description, types, run }]) => {
  const shape = Object.entries(types).map(([key, kind]) => [key, kinds[kind]()]);
  const inputSchema = z.object(Object.fromEntries(shape));
  return ai.defineTool({ name, description, inputSchema }, async (input) => {
    try {
      return run(input);
    } catch (error) {
      // What a tool throws ends the whole generation.
      if (error instanceof RecordLocked) return `Error: ${error.message}`;
      throw error;
    }
  });
});
let messages = [];
const orla = ai.defineFlow(
  { name: "orla", inputSchema: z.string(), outputSchema: z.string() },
  async (question) => {
    const done = await ai.generate({
      model: googleAI.model(MODEL),
      system: INSTRUCTIONS,
      messages,
      prompt: question,
      tools,
      maxTurns: 10,
    });
    messages = done.messages.filter((message) => message.role !== "system");
    return done.text;
  },
);
try {
  for (const turn of TURNS) console.log(await orla(turn));
} finally {
  await flushTracing();
}

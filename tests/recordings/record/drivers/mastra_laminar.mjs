/** Mastra's agent with its exporter for Laminar, which finds Laminar where the environment says. */
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { createTool } from "@mastra/core/tools";
import { LaminarExporter } from "@mastra/laminar";
import { Observability } from "@mastra/observability";
import { z } from "zod";
import { INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS } from "./shop.mjs";

const kinds = { string: () => z.string(), integer: () => z.number().int() };
const tools = {};
for (const [id, { description, types, run }] of Object.entries(TOOLS)) {
  const shape = Object.entries(types).map(([name, kind]) => [name, kinds[kind]()]);
  tools[id] = createTool({
    id,
    description,
    inputSchema: z.object(Object.fromEntries(shape)),
    execute: async (input) => run(input),
  });
}
const exporter = new LaminarExporter({
  apiKey: "none",
  baseUrl: process.env.OTEL_EXPORTER_OTLP_ENDPOINT,
});
const mastra = new Mastra({
  agents: {
    orla: new Agent({
      id: "orla",
      name: "orla",
      instructions: INSTRUCTIONS,
      model: { id: `openai/${MODEL}`, url: `${MODEL_URL}/v1`, apiKey: "none" },
      maxRetries: 0,
      tools,
    }),
  },
  logger: false,
  observability: new Observability({
    configs: { laminar: { serviceName: "orla-support", exporters: [exporter] } },
  }),
});
const agent = mastra.getAgent("orla");
const messages = [];
try {
  for (const turn of TURNS) {
    messages.push({ role: "user", content: turn });
    const done = await agent.generate(messages, { maxSteps: 10, modelSettings: { maxRetries: 0 } });
    messages.push(...done.response.messages);
    console.log(done.text);
  }
} finally {
  await mastra.shutdown();
}

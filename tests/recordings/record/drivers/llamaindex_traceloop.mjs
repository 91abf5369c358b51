/** LlamaIndex's agent of function calls for JavaScript, with Traceloop's SDK. */
import * as traceloop from "@traceloop/node-server-sdk";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { openai } from "@llamaindex/openai";
import { agent } from "@llamaindex/workflow";
import * as llamaindex from "llamaindex";
import * as llamaOpenAI from "@llamaindex/openai";
import { z } from "zod";
import { INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS } from "./shop.mjs";

traceloop.initialize({
  appName: "orla-support",
  exporter: new OTLPTraceExporter(),
  disableBatch: true,
  traceloopSyncEnabled: false,
  silenceInitializationMessage: true,
  instrumentModules: { llamaIndex: llamaindex, llamaIndexOpenAI: llamaOpenAI },
});
const types = { string: z.string(), integer: z.number(), number: z.number() };
const tools = Object.entries(TOOLS).map(([name, { description, types: given, run }]) =>
  llamaindex.tool({
    name,
    description,
    parameters: z.object(
      Object.fromEntries(Object.entries(given).map(([key, type]) => [key, types[type]])),
    ),
    execute: async (input) => run(input),
  }),
);
const orla = agent({
  name: "orla",
  llm: openai({ model: MODEL, apiKey: "none", baseURL: `${MODEL_URL}/v1`, maxRetries: 0 }),
  systemPrompt: INSTRUCTIONS,
  tools,
});
try {
  let chatHistory = [];
  for (const turn of TURNS) {
    const done = await traceloop.withAgent({ name: "orla" }, () => orla.run(turn, { chatHistory }));
    chatHistory = done.data.state?.memory ? await done.data.state.memory.get() : chatHistory;
    console.log(done.data.result);
  }
} finally {
  await traceloop.forceFlush();
}

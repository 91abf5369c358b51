/** Google's Agent Development Kit for JavaScript with its own spans. */
import { FunctionTool, Gemini, InMemoryRunner, LlmAgent, maybeSetOtelProviders } from "@google/adk";
import { trace } from "@opentelemetry/api";
import { detectResources, envDetector } from "@opentelemetry/resources";
import { z } from "zod";
import {
  INSTRUCTIONS,
  MODEL,
  MODEL_URL,
  RecordLocked,
  SCENARIO,
  SESSION,
  TOOLS,
  TRIAGE,
  TURNS,
} from "./shop.mjs";

// Its own exporters, to where the environment says.
maybeSetOtelProviders([], detectResources({ detectors: [envDetector] }));

const kinds = { string: () => z.string(), integer: () => z.number().int() };
const tools = Object.entries(TOOLS).map(([name, { description, types, run }]) => {
  const shape = Object.entries(types).map(([key, kind]) => [key, kinds[kind]()]);
  return new FunctionTool({
    name,
    description,
    parameters: z.object(Object.fromEntries(shape)),
    execute: (input) => {
      try {
        return run(input);
      } catch (error) {
        if (error instanceof RecordLocked) return { error: error.message };
        throw error;
      }
    },
  });
});
process.env.GOOGLE_GEMINI_BASE_URL = MODEL_URL;
const model = new Gemini({ model: MODEL, apiKey: "none" });
let agent = new LlmAgent({
  name: "orla",
  model,
  instruction: INSTRUCTIONS,
  description: "Knows the weather.",
  tools,
});
if (SCENARIO === "handoff")
  agent = new LlmAgent({ name: "triage", model, instruction: TRIAGE, subAgents: [agent] });
const runner = new InMemoryRunner({ agent, appName: "orla_app" });
try {
  await runner.sessionService.createSession({
    appName: "orla_app",
    userId: "u-1",
    sessionId: SESSION,
  });
  for (const turn of TURNS)
    for await (const event of runner.runAsync({
      userId: "u-1",
      sessionId: SESSION,
      newMessage: { role: "user", parts: [{ text: turn }] },
    }))
      for (const part of event.content?.parts ?? []) if (part.text) console.log(part.text);
} finally {
  await trace.getTracerProvider().getDelegate().shutdown();
}

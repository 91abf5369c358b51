/** Anthropic's Claude Agent SDK for JavaScript with OpenInference; the tools are on a server inside the process. */
import * as sdk from "@anthropic-ai/claude-agent-sdk";
import { ClaudeAgentSDKInstrumentation } from "@arizeai/openinference-instrumentation-claude-agent-sdk";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { detectResources, envDetector } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { z } from "zod";
import { INSTRUCTIONS, MODEL, TOOLS, TURNS } from "./shop.mjs";

const traces = new NodeTracerProvider({
  resource: detectResources({ detectors: [envDetector] }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
traces.register();
const instrumentation = new ClaudeAgentSDKInstrumentation({ tracerProvider: traces });
const { createSdkMcpServer, query, tool } = instrumentation.manuallyInstrument(sdk);

const kinds = { string: () => z.string(), integer: () => z.number().int() };
const tools = Object.entries(TOOLS).map(([name, { description, types, run }]) =>
  tool(
    name,
    description,
    Object.fromEntries(Object.entries(types).map(([key, kind]) => [key, kinds[kind]()])),
    async (input) => {
      try {
        return { content: [{ type: "text", text: JSON.stringify(run(input)) }] };
      } catch (error) {
        return { content: [{ type: "text", text: error.message }], isError: true };
      }
    },
  ),
);
const options = {
  model: MODEL,
  systemPrompt: INSTRUCTIONS,
  mcpServers: { shop: createSdkMcpServer({ name: "shop", tools }) },
  allowedTools: Object.keys(TOOLS).map((name) => `mcp__shop__${name}`),
  tools: [],
  settingSources: [],
  env: {
    ...process.env,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_TELEMETRY: "1",
  },
};
let resume;
try {
  for (const prompt of TURNS)
    for await (const message of query({ prompt, options: { ...options, resume } })) {
      resume = message.session_id ?? resume;
      console.log(JSON.stringify(message));
    }
} finally {
  await traces.shutdown();
}

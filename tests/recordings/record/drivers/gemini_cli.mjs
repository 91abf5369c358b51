/** Google's Gemini CLI without a screen, with the telemetry of its own, the shop behind an MCP server. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { INSTRUCTIONS, MODEL, MODEL_URL, TURNS } from "./shop.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const home = `${process.env.HOME}/.gemini`;
const kit = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => name.startsWith("KIT_")),
);
mkdirSync(home, { recursive: true });
writeFileSync(`${home}/system.md`, INSTRUCTIONS);
writeFileSync(
  `${home}/settings.json`,
  JSON.stringify({
    general: { enableAutoUpdate: false },
    privacy: { usageStatisticsEnabled: false },
    security: { auth: { selectedType: "gemini-api-key" } },
    mcpServers: {
      shop: { command: process.execPath, args: [at("shop_server.mjs")], env: kit, trust: true },
    },
    telemetry: {
      enabled: true,
      traces: true,
      logPrompts: true,
      target: "local",
      otlpProtocol: "grpc",
      otlpEndpoint: process.env.OTEL_EXPORTER_OTLP_ENDPOINT,
    },
  }),
);
for (const [number, turn] of TURNS.entries()) {
  const resumed = number ? ["--resume", "latest"] : [];
  const done = spawnSync(
    process.execPath,
    [
      at("../node_modules/@google/gemini-cli/bundle/gemini.js"),
      ...["--model", MODEL, "--approval-mode", "yolo", "--skip-trust", ...resumed, "--prompt", turn],
    ],
    {
      env: {
        ...process.env,
        GEMINI_API_KEY: "none",
        GEMINI_SYSTEM_MD: `${home}/system.md`,
        GOOGLE_GEMINI_BASE_URL: MODEL_URL,
      },
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  if (done.status) process.exitCode = done.status;
}

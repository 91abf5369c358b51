/** GitHub's Copilot CLI without a screen, with the telemetry of its own, the shop behind an MCP server. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { INSTRUCTIONS, MODEL, MODEL_URL, TURNS } from "./shop.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const home = `${process.env.HOME}/.copilot`;
const kit = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => name.startsWith("KIT_")),
);
mkdirSync(home, { recursive: true });
writeFileSync(`${home}/copilot-instructions.md`, INSTRUCTIONS);
writeFileSync(
  `${home}/mcp-config.json`,
  JSON.stringify({
    mcpServers: {
      shop: {
        type: "local",
        command: process.execPath,
        args: [at("shop_server.mjs")],
        env: kit,
        tools: ["*"],
      },
    },
  }),
);
for (const [number, turn] of TURNS.entries()) {
  const resumed = number ? ["--continue"] : [];
  const done = spawnSync(
    process.execPath,
    [
      at("../node_modules/@github/copilot/npm-loader.js"),
      ...["--allow-all", "--no-ask-user", "--no-auto-update", ...resumed, "--prompt", turn],
    ],
    {
      env: {
        ...process.env,
        COPILOT_HOME: home,
        COPILOT_OFFLINE: "true",
        COPILOT_PROVIDER_BASE_URL: `${MODEL_URL}/v1`,
        COPILOT_MODEL: MODEL,
        OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true",
      },
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  if (done.status) process.exitCode = done.status;
}

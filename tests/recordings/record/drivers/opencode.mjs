/** opencode on the command line, with the telemetry of its own, the shop behind an MCP server. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { INSTRUCTIONS, MODEL, MODEL_URL, TURNS } from "./shop.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const kit = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => name.startsWith("KIT_")),
);
const config = {
  autoupdate: false,
  share: "disabled",
  model: `local/${MODEL}`,
  small_model: `local/${MODEL}`,
  default_agent: "orla",
  experimental: { openTelemetry: true },
  agent: {
    orla: { mode: "primary", prompt: INSTRUCTIONS },
    // Its request for a title would take the script's first answer.
    title: { disable: true },
  },
  provider: {
    local: {
      npm: "@ai-sdk/openai-compatible",
      name: "local",
      options: { baseURL: `${MODEL_URL}/v1`, apiKey: "none" },
      models: { [MODEL]: { name: MODEL, tool_call: true } },
    },
  },
  mcp: {
    shop: {
      type: "local",
      command: [process.execPath, at("shop_server.mjs")],
      environment: kit,
      enabled: true,
    },
  },
};
for (const [number, turn] of TURNS.entries()) {
  const resumed = number ? ["--continue"] : [];
  const done = spawnSync(
    at("../node_modules/opencode-linux-x64/bin/opencode"),
    ["run", "--agent", "orla", ...resumed, turn],
    {
      env: {
        ...process.env,
        OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
        OPENCODE_DISABLE_MODELS_FETCH: "true",
        OPENCODE_DISABLE_DEFAULT_PLUGINS: "true",
        OPENCODE_DISABLE_AUTOUPDATE: "true",
      },
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  if (done.status) process.exitCode = done.status;
}

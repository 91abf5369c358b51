/** OpenAI's Codex on the command line, with the telemetry of its own, the shop behind an MCP server. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { INSTRUCTIONS, MODEL, MODEL_URL, TURNS } from "./shop.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const home = `${process.env.HOME}/.codex`;
const collector = process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
const kit = Object.entries(process.env).filter(([name]) => name.startsWith("KIT_"));
const exporter = (signal) =>
  `{ otlp-http = { endpoint = "${collector}/v1/${signal}", protocol = "binary" } }`;

mkdirSync(home, { recursive: true });
writeFileSync(
  `${home}/config.toml`,
  `
model = "${MODEL}"
model_provider = "local"
developer_instructions = ${JSON.stringify(INSTRUCTIONS)}
check_for_update_on_startup = false

[model_providers.local]
name = "local"
base_url = "${MODEL_URL}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[mcp_servers.shop]
command = ${JSON.stringify(process.execPath)}
args = [${JSON.stringify(at("shop_server.mjs"))}]
env = { ${kit.map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join(", ")} }

[analytics]
enabled = false

[otel]
environment = "test"
log_user_prompt = true
log_agent_responses = true
exporter = ${exporter("logs")}
trace_exporter = ${exporter("traces")}
metrics_exporter = "none"
`,
);
const options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];
for (const [number, turn] of TURNS.entries()) {
  const command = number ? ["exec", "resume", "--last", ...options, turn] : ["exec", ...options, turn];
  const done = spawnSync(process.execPath, [at("../node_modules/@openai/codex/bin/codex.js"), ...command], {
    env: { ...process.env, CODEX_HOME: home },
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (done.status) process.exitCode = done.status;
}

/** The shop's tools as an MCP server on standard input and output, for agents that are programs of their own. */
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { TOOLS } from "./shop.mjs";

const server = new Server({ name: "shop", version: "1.4.2" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: Object.entries(TOOLS).map(([name, { description, types }]) => ({
    name,
    description,
    inputSchema: {
      type: "object",
      properties: Object.fromEntries(Object.entries(types).map(([key, type]) => [key, { type }])),
      required: Object.keys(types),
    },
  })),
}));
server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
  try {
    const text = JSON.stringify(TOOLS[params.name].run(params.arguments));
    return { content: [{ type: "text", text }] };
  } catch (error) {
    return { content: [{ type: "text", text: error.message }], isError: true };
  }
});
await server.connect(new StdioServerTransport());

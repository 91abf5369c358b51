// What the official SDK for JavaScript gets of `retrospan mcp`: a line for each check, its name and what came.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const client = new Client({ name: 'asks', version: '1' })
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])))

async function check(name, asked) {
  let got
  try {
    got = await asked()
  } catch (error) {
    got = `FAILED: ${error}`
  }
  console.log(`${name}\t${JSON.stringify(got)}`)
}

const call = async (name, given) => client.callTool({ name, arguments: given })
const text = async (name, given) => (await call(name, given)).content[0].text

await check('the server', async () => client.getServerVersion().name)
await check('instructions', async () => client.getInstructions().includes('not instructions'))
await check('tools', async () => (await client.listTools()).tools.map((tool) => tool.name))
await check('the list is short', async () => JSON.stringify(await client.listTools()).length < 6000)
await check('a count', async () => text('sql', { query: 'SELECT count() AS n FROM runs', format: 'csv' }))
await check('a value', async () =>
  text('sql', { query: 'SELECT {a:String} AS a', parameters: { a: "it's" }, format: 'csv' }))
await check('every line is quoted', async () =>
  (await text('show', { run: 'last' })).split('\n').every((line) => /^(\| |\|\+ |\|! |\[lines )/.test(line)))
await check('an answer is short', async () => (await text('runs', { limit: 1000 })).length <= 8000)
await check('a wrong type', async () => (await call('show', { run: 7 })).isError)
await check('a refused statement', async () => (await call('sql', { query: 'DROP TABLE runs' })).isError)
await client.close()

// What @clickhouse/client reads: a line for each check, its name and what came, divided by a tab.
import { createClient, ClickHouseLogLevel } from '@clickhouse/client'

const url = `http://${process.argv[2]}`
const quiet = { log: { level: ClickHouseLogLevel.OFF } }

async function check(name, asked) {
  let got
  try {
    got = await asked()
  } catch (error) {
    got = `FAILED: ${error}`
  }
  console.log(`${name}\t${typeof got === 'string' ? got : JSON.stringify(got)}`)
}

async function failure(asked) {
  try {
    await asked()
    return 'no error'
  } catch (error) {
    return error
  }
}

async function checks(how, more) {
  const client = createClient({ url, database: 'retrospan', ...quiet, ...more })
  const rows = async (query, parameters = {}, settings = {}) => {
    const answer = await client.query({
      query, query_params: parameters, clickhouse_settings: settings, format: 'JSONEachRow',
    })
    return answer.json()
  }
  const drain = async (query) => {
    const answer = await client.query({ query, format: 'JSONEachRow' })
    let count = 0
    for await (const piece of answer.stream()) count += piece.length
    return count
  }
  await check(`${how}: ping`, async () => (await client.ping({ select: true })).success)
  await check(`${how}: rows of a view`, async () => (await rows('SELECT run_id FROM runs')).length)
  await check(`${how}: 300,000 rows as a stream`, () => drain('SELECT number FROM numbers(300000)'))
  await check(`${how}: query_params`, () =>
    rows(
      'SELECT {text:String} AS text, {list:Array(UInt32)} AS list, {none:Nullable(String)} AS none, ' +
        '{at:DateTime64(3)} AS at, {named:Map(String, String)} AS named',
      { text: "it's \\ \n ✓", list: [1, 2], none: null, at: new Date(1e12), named: { a: 'b' } },
    ))
  await check(`${how}: clickhouse_settings`, () =>
    rows('SELECT toUInt64(1) AS one', {}, { output_format_json_quote_64bit_integers: 1 }))
  await check(`${how}: an error`, async () => (await failure(() => rows('SELECT nope'))).code)
  await check(`${how}: writing`, async () =>
    (await failure(() => client.insert({ table: 'runs', values: [{ run_id: 'x' }] }))).code)
  await check(`${how}: an error in the middle`, async () => {
    const query = 'SELECT number, throwIf(number = 3000000) AS late FROM numbers(4000000)'
    const error = await failure(() => drain(query))
    // Node's own gzip gives up what it has when the connection is cut: the error is then that of the connection.
    return error === 'no error' ? error : ['395', 'ECONNRESET'].includes(error.code) ? 'an error' : error.code
  })
  await check(`${how}: abort_signal`, async () => {
    const giving = new AbortController()
    setTimeout(() => giving.abort(), 500)
    const began = Date.now()
    await failure(() =>
      client.query({ query: 'SELECT count() FROM numbers(1000000000000)', abort_signal: giving.signal }))
    return Date.now() - began < 5000
  })
  await client.close()
}

await checks('plain', {})
await checks('multipart', { use_multipart_params: true })
await checks('gzip', { compression: { request: true, response: true } })

const client = createClient({ url, database: 'retrospan', use_multipart_params: true, ...quiet })
await check('a long parameter', async () => {
  const answer = await client.query({
    query: 'SELECT length({text:String}) AS n', query_params: { text: 'x'.repeat(200000) }, format: 'JSONEachRow',
  })
  return (await answer.json())[0].n
})
await client.close()
const session = createClient({ url, session_id: 'reads', ...quiet })
await check('a session', async () => {
  await session.command({ query: 'SET output_format_json_quote_64bit_integers = 1' })
  const answer = await session.query({ query: 'SELECT toUInt64(1) AS one', format: 'JSONEachRow' })
  return answer.json()
})
await session.close()

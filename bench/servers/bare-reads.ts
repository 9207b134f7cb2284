import { hash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import Fastify from 'fastify'
import pg from 'pg'

/**
 * Fastify that answers pages with the same rows as teslim, each from one prepared SELECT, in the request thread or through a pool. It asks
 * for no token, and a cursor is the last position or order id. As `least` it does what no answer of teslim can do without: it looks for
 * the token, reads whether an account has changed, has files read by another thread, and logs each request.
 */
const [, , store = '', customer = '', kind = ''] = process.argv
const isLeast = kind === 'least'

type Row = Readonly<Record<string, string | number | null>>
type Select = (...values: readonly (string | number)[]) => Row[] | Promise<Row[]>

const isFile = !store.startsWith('postgres:')
const HEX = isFile ? 'lower(hex(d.receipt))' : 'd.receipt::text'
const TEXT = isFile ? 'CAST(d.payload AS text)' : "convert_from(d.payload, 'UTF8')"
const SUMMARY = `d.position, ${HEX} AS receipt, d.order_id, d.status, d.received_at, d.echo_of`

const SQL = {
  feed: `
  SELECT ${SUMMARY}, ${TEXT} AS payload, c.id AS customer FROM bare_delivery d JOIN customer c ON c.number = d.customer
   WHERE d.position > $1 ORDER BY d.position LIMIT 100`,
  list: `
  SELECT s.order_id, s.status, ${HEX} AS receipt, d.received_at
    FROM order_state s JOIN bare_delivery d ON d.position = s.state_position
   WHERE s.customer = (SELECT number FROM customer WHERE id = $1) AND s.order_id > $2 ORDER BY s.order_id LIMIT 50`,
  detail: `
  WITH RECURSIVE chain AS (
    SELECT d.* FROM order_state s JOIN bare_delivery d ON d.position = s.latest_position
     WHERE s.customer = (SELECT number FROM customer WHERE id = $1) AND s.order_id = $2
    UNION ALL
    SELECT d.* FROM chain c JOIN bare_delivery d ON d.position = c.previous
  )
  SELECT ${SUMMARY} FROM chain d LIMIT 100`,
  supplier: `
  SELECT ${SUMMARY} FROM bare_delivery d
   WHERE d.customer = (SELECT number FROM customer WHERE id = $1) AND d.position < $2 ORDER BY d.position DESC LIMIT 50`,
  version: 'SELECT number FROM account_version',
}

function prepareOnFile(path: string): (sql: string) => Select {
  const database = new DatabaseSync(path, { readOnly: true })
  return (sql) => {
    const statement = database.prepare(sql.replaceAll('$', '?'))
    return (...values) => statement.all(...values) as Row[]
  }
}

function prepareOnServer(url: string): (sql: string) => Select {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  return (text) => {
    const name = text.slice(0, 60)
    return async (...values) => (await pool.query({ name, text, values: [...values] })).rows
  }
}

type Selects = Readonly<Record<keyof typeof SQL, Select>>

const prepare = isFile ? prepareOnFile(store) : prepareOnServer(store)
const prepared = Object.fromEntries(Object.entries(SQL).map(([name, sql]) => [name, prepare(sql)])) as Selects

/** Asks another thread, by plain messages. */
function inThread(): Selects {
  const thread = new Worker(import.meta.filename, { argv: process.argv.slice(2) })
  const waiting: ((rows: Row[]) => void)[] = []
  thread.on('message', (rows: Row[]) => waiting.shift()?.(rows))
  const ask =
    (name: string): Select =>
    (...values) =>
      new Promise((resolve) => {
        waiting.push(resolve)
        thread.postMessage([name, values])
      })
  return Object.fromEntries(Object.keys(SQL).map((name) => [name, ask(name)])) as unknown as Selects
}

if (!isMainThread)
  parentPort?.on('message', ([name, values]: [keyof typeof SQL, string[]]) =>
    parentPort?.postMessage(prepared[name](...values)),
  )

const { feed, list, detail, supplier } = isLeast && isFile && isMainThread ? inThread() : prepared

const uuidOf = (text: string): string =>
  text.length === 36
    ? text
    : `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`

const stateOf = (row: Row | undefined) => ({
  OrderID: row?.order_id,
  CustomerID: customer,
  Status: row?.status,
  ReceiptID: uuidOf(String(row?.receipt)),
  ReceivedAt: new Date(Number(row?.received_at)).toISOString(),
})

const entryOf = (row: Row) => ({
  ReceiptID: uuidOf(String(row.receipt)),
  Status: row.status,
  Duplicate: row.echo_of !== null,
  ReceivedAt: new Date(Number(row.received_at)).toISOString(),
})

const deliveryOf = (row: Row) => ({ ...entryOf(row), OrderID: row.order_id })

const success = <Data>(data: Data) => ({ data, success: true, message: 'OK' })

const app = Fastify()

if (isLeast) {
  const known = new Set<string>()
  app.addHook('onRequest', async ({ headers }) => {
    known.add(hash('sha256', String(headers.authorization ?? headers.apikey), 'base64'))
    await prepared.version()
  })
  app.addHook('onResponse', async ({ id, method, url }, { statusCode, elapsedTime }) => {
    const time = new Date().toISOString()
    console.log(
      JSON.stringify({ time, requestId: id, method, route: url, status: statusCode, durationMs: elapsedTime }),
    )
  })
}

interface Page {
  Params: { orderId: string }
  Querystring: { cursor?: string; after?: string }
}

app.get<Page>('/Purchase/feed', async ({ query }, reply) => {
  const rows = await feed(Number(query.after ?? 0))
  const items = rows.map((row) => {
    const item = JSON.stringify({ ...deliveryOf(row), CustomerID: row.customer })
    return `${item.slice(0, -1)},"Payload":${row.payload}}`
  })
  reply.type('application/json; charset=utf-8')
  return `{"data":{"Deliveries":[${items}],"NextCursor":"${rows.at(-1)?.position}"},"success":true,"message":"OK"}`
})

app.get<Page>('/Purchase/list', async ({ query }) => {
  const rows = await list(customer, query.cursor ?? '')
  return success({ Orders: rows.map(stateOf), NextCursor: rows.at(-1)?.order_id })
})

app.get<Page>('/Purchase/detail/:orderId', async ({ params }) => {
  const rows = await detail(customer, params.orderId)
  return success({ ...stateOf(rows[0]), Deliveries: rows.map(entryOf), NextCursor: null })
})

app.get<Page>('/Supplier/deliveries', async ({ query }) => {
  const rows = await supplier(customer, Number(query.cursor ?? Number.MAX_SAFE_INTEGER))
  return success({ Deliveries: rows.map(deliveryOf), NextCursor: String(rows.at(-1)?.position) })
})

if (isMainThread) console.log(`listening on ${await app.listen({ host: '127.0.0.1', port: 0 })}"`)

// Follows the feed of teslim into a table of a back office. The cursor is stored in the same transaction as the rows, so the
// program can be killed at any moment and continues without loss or repeats. Needs Node 26 or later:
//
//   TESLIM_URL=http://127.0.0.1:3000 TESLIM_EMAIL=office@example.com TESLIM_PASSWORD=... node examples/follower.js orders.db
//
// If deliveries that it has not read were removed from teslim, or some that it has read were lost there, it prints how to go on and
// ends with status 1. Decide what that means for your data, then start it once with --again CURSOR if a cursor was printed, or with
// --again alone to read all that is left there. Neither removes or repeats anything here.
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'

const { TESLIM_URL = 'http://127.0.0.1:3000', TESLIM_EMAIL, TESLIM_PASSWORD } = process.env
const database = new DatabaseSync(process.argv[2] ?? 'orders.db', { timeout: 5000 })
database.exec(`
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS delivery (
    receipt TEXT PRIMARY KEY, customer TEXT NOT NULL, order_id TEXT, status INTEGER NOT NULL, duplicate INTEGER NOT NULL,
    received_at TEXT NOT NULL, payload TEXT -- NULL: it was erased
  );
  -- An order id is unique only within its customer: another supplier may use the same.
  CREATE TABLE IF NOT EXISTS order_state (
    customer TEXT NOT NULL, order_id TEXT NOT NULL, status INTEGER NOT NULL, receipt TEXT NOT NULL,
    PRIMARY KEY (customer, order_id)
  );
  CREATE TABLE IF NOT EXISTS cursor (value TEXT);
  INSERT INTO cursor SELECT NULL WHERE NOT EXISTS (SELECT 1 FROM cursor)`)
const insert = database.prepare('INSERT INTO delivery VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (receipt) DO NOTHING')
const setState = database.prepare('REPLACE INTO order_state VALUES (?, ?, ?, ?)')
const writeCursor = database.prepare('UPDATE cursor SET value = ?')

const again = process.argv.indexOf('--again')
let cursor = again > 0 ? process.argv[again + 1] : database.prepare('SELECT value FROM cursor').get().value
let token
let failures = 0
for (;;) {
  try {
    token ??= await logIn()
    await takeNext()
    failures = 0
  } catch (error) {
    // Something is missing, and no program can decide what that means.
    if (error.code === 'CURSOR_PURGED' || error.code === 'DELIVERIES_LOST') {
      console.error(error.message)
      process.exit(1)
    }
    // teslim was restored from a backup that lacks what was read here: reads all of it again, and skips what is here.
    if (error.code === 'CURSOR_INVALID') cursor = null
    failures++
    console.error(`${error.message}; trying again`)
    await wait(Math.min(30_000, 250 * 2 ** failures) * (0.5 + Math.random() / 2))
  }
}

async function logIn() {
  const body = JSON.stringify({ Email: TESLIM_EMAIL, Password: TESLIM_PASSWORD })
  const headers = { 'Content-Type': 'application/json' }
  const { data } = await call('/Login/Customer/Api/Verify', { method: 'POST', headers, body })
  return data.Token
}

async function takeNext() {
  const query = new URLSearchParams({ limit: '500', wait: '30', ...(cursor && { after: cursor }) })
  const { data } = await call(`/Purchase/feed?${query}`, { headers: { Authorization: `Bearer ${token}` } })
  database.exec('BEGIN IMMEDIATE')
  try {
    for (const delivery of data.Deliveries) store(delivery)
    writeCursor.run(data.NextCursor)
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
  cursor = data.NextCursor
}

function store({ ReceiptID, CustomerID, OrderID = null, Status, Duplicate, ReceivedAt, Payload = null }) {
  const payload = Payload && JSON.stringify(Payload)
  const { changes } = insert.run(ReceiptID, CustomerID, OrderID, Status, Number(Duplicate), ReceivedAt, payload)
  const isNew = changes === 1
  if (isNew && OrderID !== null) setState.run(CustomerID, OrderID, Status, ReceiptID)
}

async function call(path, options) {
  const answer = await fetch(TESLIM_URL + path, { ...options, signal: AbortSignal.timeout(60_000) })
  if (answer.status === 401) token = undefined
  const body = JSON.parse(await answer.text(), keepNumbers)
  if (!answer.ok)
    throw Object.assign(new Error(`${path}: ${answer.status} ${body.errorCode}: ${body.message}`), {
      code: body.errorCode,
    })
  return body
}

/** Keeps the exact text of numbers that JavaScript would round. */
function keepNumbers(_name, value, { source }) {
  return typeof value === 'number' && String(value) !== source ? JSON.rawJSON(source) : value
}

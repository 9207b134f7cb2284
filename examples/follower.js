// Follows the feed of teslim into a table of a back office. The cursor is stored in the same transaction as the rows, so the
// program can be killed at any moment and continues without loss or repeats. Needs Node 26 or later:
//
//   TESLIM_URL=http://127.0.0.1:3000 TESLIM_EMAIL=office@example.com TESLIM_PASSWORD=... node examples/follower.js orders.db
//
// If deliveries that it has not read were removed from teslim, it ends with status 1. Once you have decided what that means for
// your data, --again makes it begin with what is left there, beside what it has here.
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'

const { TESLIM_URL = 'http://127.0.0.1:3000', TESLIM_EMAIL, TESLIM_PASSWORD } = process.env
const again = process.argv.includes('--again')
const database = new DatabaseSync(process.argv[2] ?? 'orders.db')
database.exec(`
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS delivery (
    receipt TEXT PRIMARY KEY, order_id TEXT, status INTEGER NOT NULL, duplicate INTEGER NOT NULL,
    received_at TEXT NOT NULL, payload TEXT -- NULL: it was erased
  );
  CREATE TABLE IF NOT EXISTS cursor (value TEXT);
  INSERT INTO cursor SELECT NULL WHERE NOT EXISTS (SELECT 1 FROM cursor)`)
// Else a delivery that comes twice is a defect that must be seen.
const insert = database.prepare(`INSERT ${again ? 'OR IGNORE' : ''} INTO delivery VALUES (?, ?, ?, ?, ?, ?)`)
const readCursor = database.prepare('SELECT value FROM cursor')
const writeCursor = database.prepare('UPDATE cursor SET value = ?')

if (again) writeCursor.run(null)
let token
let failures = 0
for (;;) {
  try {
    token ??= await logIn()
    await takeNext()
    failures = 0
  } catch (error) {
    if (error.code === 'CURSOR_PURGED' || error.code === 'DELIVERIES_LOST') {
      console.error(error.message)
      process.exit(1)
    }
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
  const { value } = readCursor.get()
  const query = new URLSearchParams({ limit: '500', wait: '30', ...(value && { after: value }) })
  const { data } = await call(`/Purchase/feed?${query}`, { headers: { Authorization: `Bearer ${token}` } })
  database.exec('BEGIN IMMEDIATE')
  try {
    for (const { ReceiptID, OrderID = null, Status, Duplicate, ReceivedAt, Payload = null } of data.Deliveries) {
      insert.run(ReceiptID, OrderID, Status, Number(Duplicate), ReceivedAt, Payload && JSON.stringify(Payload))
    }
    writeCursor.run(data.NextCursor)
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
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

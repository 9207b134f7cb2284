import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { Row } from './least-app.ts'

const database = new DatabaseSync(workerData)
database.exec(`
  PRAGMA journal_mode = wal;
  PRAGMA synchronous = FULL;
  CREATE TABLE delivery (position INTEGER PRIMARY KEY, receipt TEXT, order_id TEXT, status INTEGER, received_at INTEGER, payload TEXT);
  CREATE TABLE order_state (order_id TEXT PRIMARY KEY, status INTEGER, received_at INTEGER) WITHOUT ROWID`)
const insert = database.prepare(`
  INSERT INTO delivery (receipt, order_id, status, received_at, payload) VALUES (?, ?, ?, ?, ?)`)
const upsert = database.prepare(`
  INSERT INTO order_state (order_id, status, received_at) VALUES (?, ?, ?)
  ON CONFLICT DO UPDATE SET status = excluded.status, received_at = excluded.received_at`)

parentPort?.on('message', (rows: readonly Row[]) => {
  database.exec('BEGIN IMMEDIATE')
  for (const row of rows) {
    insert.run(...row)
    upsert.run(row[1], row[2], row[3])
  }
  database.exec('COMMIT')
  parentPort?.postMessage(null)
})

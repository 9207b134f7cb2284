import { execFile } from 'node:child_process'
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { type OpenLoopResult, openLoop, percentile } from './open-loop.ts'
import type { BenchOptions } from './options.ts'
import { median, printTable, say } from './report.ts'
import { syncDisk } from './server-process.ts'
import { BIN, prepareTeslim, startTeslim } from './teslim-server.ts'

const PER_SECOND = 5000
const MAX_CONNECTIONS = 2000
const FILL_PAYLOAD_BYTES = 2000
const FILL_AT_ONCE = 1000

/** Measures the same load in turn without and with a backup. The store has `most` bytes. */
export async function benchBackup({ folder, rounds, seconds, most }: BenchOptions): Promise<void> {
  const database = join(folder, 'teslim.db')
  const { apiKey } = await prepareTeslim(`sqlite:${database}`)
  fill(database, most)
  const server = await startTeslim(folder, `sqlite:${database}`)
  const deliver = () =>
    openLoop({ url: server.url, apiKey, perSecond: PER_SECOND, seconds, mostConnections: MAX_CONNECTIONS })
  const rows: string[][] = []
  const ratios: { rate: number; p99: number }[] = []
  say(`${PER_SECOND} deliveries a second offered, ${rounds} rounds of ${seconds} s without and with a backup`)
  try {
    await openLoop({
      url: server.url,
      apiKey,
      perSecond: PER_SECOND / 2,
      seconds: 2,
      mostConnections: MAX_CONNECTIONS,
    })
    for (let round = 0; round < rounds; round++) {
      await syncDisk()
      const without = await deliver()
      await syncDisk()
      const path = join(folder, `backup-${round}.db`)
      const log = watchLog(`${database}-wal`)
      const [during, made] = await Promise.all([deliver(), backUp(database, path)])
      const largestLog = log.stop()
      verify(path, without)
      ratios.push({ rate: during.taken.length / without.taken.length, p99: p99(during) / p99(without) })
      rows.push([
        ...[without, during].flatMap((each) => [(each.taken.length / seconds).toFixed(0), p99(each).toFixed(1)]),
        (made.bytes / 1e6).toFixed(0),
        made.seconds.toFixed(1),
        (largestLog / 1e6).toFixed(0),
      ])
      rmSync(path)
    }
    printTable(['taken/s', 'p99 ms', 'with: taken/s', 'p99 ms', 'backup MB', 'took s', 'log MB at most'], rows)
    say(`taken with a backup / without   ${median(ratios.map(({ rate }) => rate)).toFixed(2)}   (at least 0.90)`)
    say(`p99 with a backup / without     ${median(ratios.map(({ p99 }) => p99)).toFixed(1)}   (at most 2)`)
    say('every backup passed integrity_check and holds all that was acknowledged before it began')
  } finally {
    await server.stop()
  }
}

const p99 = ({ taken }: OpenLoopResult): number => percentile(taken, 99)

async function backUp(database: string, path: string): Promise<{ bytes: number; seconds: number }> {
  const start = performance.now()
  const env = { PATH: process.env.PATH ?? '', DATABASE_URL: `sqlite:${database}` }
  const { stdout } = await promisify(execFile)(process.execPath, [BIN, 'backup', path, '--json'], { env })
  return { bytes: JSON.parse(stdout).bytes, seconds: (performance.now() - start) / 1000 }
}

function watchLog(path: string) {
  let largest = 0
  const timer = setInterval(() => {
    largest = Math.max(largest, statSync(path, { throwIfNoEntry: false })?.size ?? 0)
  }, 50)
  return {
    stop() {
      clearInterval(timer)
      return largest
    },
  }
}

/** Throws unless the backup is sound and holds every delivery of a load that ended before it began. */
function verify(path: string, { acknowledged }: OpenLoopResult): void {
  const copy = new DatabaseSync(path, { readOnly: true })
  try {
    const found = copy.prepare('PRAGMA integrity_check').get()?.integrity_check
    if (found !== 'ok') throw new Error(`${path}: ${found}`)
    const find = copy.prepare(`SELECT payload FROM delivery WHERE receipt = unhex(?, '-')`)
    for (const { receipt, body } of acknowledged) {
      const payload = find.get(receipt)?.payload as Uint8Array | undefined
      if (payload === undefined || Buffer.from(payload).toString() !== body)
        throw new Error(`${path} lacks ${receipt}, which was acknowledged before it began`)
    }
  } finally {
    copy.close()
  }
}

/** Stores deliveries straight into the file, since the server would take long. */
function fill(path: string, bytes: number): void {
  const store = new DatabaseSync(path)
  const payload = Buffer.alloc(FILL_PAYLOAD_BYTES, 'x')
  const insert = store.prepare(`
    INSERT INTO delivery (position, receipt, customer, order_id, status, received_at, payload) VALUES (?, ?, 1, ?, 1, ?, ?)`)
  for (let position = 1; statSync(path).size < bytes; ) {
    store.exec('BEGIN')
    for (let row = 0; row < FILL_AT_ONCE; row++, position++) {
      const receipt = Buffer.alloc(16)
      receipt.writeUIntBE(position, 8, 6)
      insert.run(position, receipt, `old-${position}`, position, payload)
    }
    store.exec('COMMIT')
  }
  store.close()
}

import { Worker } from 'node:worker_threads'
import { runSql } from '../test/support/postgres/postgres-server.ts'
import { SUPPLIERS, type Supplier } from './fill-refusals.ts'
import { createGet } from './get.ts'
import type { BenchOptions } from './options.ts'
import { printTimes } from './read-times.ts'
import { say } from './report.ts'
import { syncDisk } from './server-process.ts'
import { startTeslim } from './teslim-server.ts'

/** How long suppliers take to read what was refused, one request at a time, with many refusals stored. */
export async function benchRefusals(options: BenchOptions): Promise<void> {
  const { folder, databaseUrl, data, most, rounds, postgres } = options
  const suppliers = await fill(databaseUrl, most)
  if (postgres) for (const statement of ['VACUUM ANALYZE', 'CHECKPOINT']) await runSql(databaseUrl, statement)
  await syncDisk()
  const teslim = await startTeslim(folder, databaseUrl)
  try {
    await measure(teslim.url, suppliers, { most, rounds, folder: data })
  } finally {
    await teslim.stop()
  }
}

/** In a thread of its own: what filling leaves in a heap is collected while this one measures, a pause of 10 ms in every hundredth request. */
const fill = (databaseUrl: string, most: number): Promise<Supplier[]> =>
  new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./fill-refusals.ts', import.meta.url), { workerData: { databaseUrl, most } })
    thread.once('message', resolve).once('error', reject)
  })

interface Answer {
  readonly data: {
    readonly Refusals: readonly { RefusalID: string; PayloadBytes?: number }[]
    NextCursor: string | null
  }
}

async function measure(
  url: string,
  suppliers: readonly Supplier[],
  { most, rounds, folder }: Pick<BenchOptions, 'most' | 'rounds' | 'folder'>,
): Promise<void> {
  const send = createGet(url)
  const get = (path: string, number = Math.floor(Math.random() * SUPPLIERS)): Promise<Answer> =>
    send(path, { ApiKey: suppliers[number]?.key ?? '' })
  /** Each request goes on where the one before ended. */
  const walking = (path: string) => {
    let cursor: string | null = null
    return async () => {
      cursor = (await get(cursor === null ? path : `${path}&cursor=${cursor}`, 0)).data.NextCursor
    }
  }
  const withBody = (await get('/Supplier/refusals?limit=100', 0)).data.Refusals.find((each) => each.PayloadBytes)
  const middle = new Date(Date.now() - 5 * most).toISOString()
  const kinds: Record<string, () => Promise<unknown>> = {
    'nothing (/livez)': () => get('/livez'),
    'first page': () => get('/Supplier/refusals'),
    'page after page': walking('/Supplier/refusals?limit=50'),
    'pages of 100': walking('/Supplier/refusals?limit=100'),
    'before a time': () => get(`/Supplier/refusals?to=${encodeURIComponent(middle)}`),
    'of one order': () => get(`/Supplier/refusals?orderId=PO-${Math.floor((Math.random() * most) / SUPPLIERS)}`),
    'of a code that none has': walking('/Supplier/refusals?code=NONE'),
    ...(withBody && { 'one body': () => get(`/Supplier/refusal/${withBody.RefusalID}/payload`, 0) }),
  }
  say(`${most / 1e6} million refusals of ${SUPPLIERS} suppliers`)
  await printTimes(kinds, { rounds, folder })
}

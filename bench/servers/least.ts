import { Worker } from 'node:worker_threads'
import { serveLeast } from './least-app.ts'

/** The least with SQLite: a thread stores each batch with one commit, in two tables with a primary key each. */
const [, , path = ''] = process.argv
const writer = new Worker(new URL('./least-writer.ts', import.meta.url), { name: 'writer', workerData: path })

const underWay: (() => void)[] = []
writer.on('message', () => underWay.shift()?.())

await serveLeast(
  (rows) =>
    new Promise((resolve) => {
      underWay.push(resolve)
      writer.postMessage(rows)
    }),
)

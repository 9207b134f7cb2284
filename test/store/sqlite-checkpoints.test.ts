import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type Database, openDatabase, useWriteAheadLog } from '#src/store/sqlite/database.ts'
import { finish } from '#src/store/sqlite/nouns.ts'
import { createStoreFile } from '#src/store/sqlite/store-file.ts'
import { type Checkpoints, createCheckpoints } from '#src/store/sqlite/thread/checkpoints.ts'
import { emptyLog } from '#src/store/sqlite/wiping.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const PAGES = 64
const BYTES_OF_ROW = 8000
/** At least, in the log. */
const PAGES_OF_ROW = 2
const BYTES_OF_PAGE = 4096 + 24

interface Opened {
  readonly path: string
  readonly database: Database
  /** Commits a row of some pages. */
  write(): void
  rows(): number
  bytesOfLog(): number
}

function openStore(): Opened {
  const path = join(tempFolder(), 'teslim.db')
  createStoreFile(path)
  const database = openDatabase(path)
  onTestFinished(() => database.close())
  useWriteAheadLog(database)
  database.script(`PRAGMA wal_autocheckpoint = ${PAGES}; CREATE TABLE row (bytes)`)
  return {
    path,
    database,
    write: () => database.transaction(() => void database.run(`INSERT INTO row VALUES (randomblob(${BYTES_OF_ROW}))`)),
    rows: () => Number(database.get('SELECT count(*) AS count FROM row')?.count),
    bytesOfLog: () => statSync(`${path}-wal`).size,
  }
}

/** The thread that copies, which counts what it is asked. */
function countingThread(path: string) {
  const asked = { count: 0 }
  const spawn = (): Worker => {
    const url = new URL('../../src/store/sqlite/thread/checkpoint-worker.ts', import.meta.url)
    const worker = new Worker(url, { workerData: { path } })
    onTestFinished(async () => void (await worker.terminate()))
    const post = worker.postMessage.bind(worker)
    worker.postMessage = (message: unknown) => {
      if (Array.isArray(message)) asked.count++
      post(message)
    }
    return worker
  }
  return { asked, spawn }
}

/** Commits a row in each turn until it is so. */
async function writeUntil({ write }: Opened, checkpoints: { afterCommit(): void }, isSo: () => boolean): Promise<void> {
  await expect
    .poll(
      async () => {
        write()
        checkpoints.afterCommit()
        await new Promise((resolve) => setImmediate(resolve))
        return isSo()
      },
      { interval: 1, timeout: 20_000 },
    )
    .toBe(true)
}

/** The log begins again: it has as many bytes as before, but few pages. */
const beginsAgain = ({ database }: Opened) => {
  let most = 0
  return (): boolean => {
    const log = Number(database.get('PRAGMA wal_checkpoint(NOOP)')?.log)
    most = Math.max(most, log)
    return log < most / 2
  }
}

it('the log is copied beside the writer again and again, and no commit has to', async () => {
  const store = openStore()
  const { asked, spawn } = countingThread(store.path)
  const checkpoints = createCheckpoints(store.database, spawn)
  store.database.script('PRAGMA wal_autocheckpoint = 0')
  for (let times = 1; times <= 5; times++) {
    await writeUntil(store, checkpoints, beginsAgain(store))
    expect(asked.count).toBeGreaterThanOrEqual(times)
  }
  const { log } = store.database.get('PRAGMA wal_checkpoint(NOOP)') as { log: number }
  const rowsInFile = store.rows() - log / PAGES_OF_ROW
  expect(statSync(store.path).size).toBeGreaterThan(rowsInFile * BYTES_OF_ROW)
})

it('a reader of an old state keeps the log from being copied: it is tried seldom, and done when the reader has left', async () => {
  const store = openStore()
  store.write()
  const { asked, spawn } = countingThread(store.path)
  const checkpoints = createCheckpoints(store.database, spawn)
  store.database.script('PRAGMA wal_autocheckpoint = 0')
  const reader = openDatabase(store.path, { readOnly: true })
  onTestFinished(() => reader.close())
  reader.script('BEGIN')
  reader.get('SELECT count(*) FROM row')
  await writeUntil(store, checkpoints, () => store.bytesOfLog() > 20 * PAGES * BYTES_OF_PAGE)
  const tries = (20 * PAGES) / (PAGES / 4)
  expect(asked.count).toBeLessThanOrEqual(2 * tries + 2)
  reader.script('COMMIT')
  await writeUntil(store, checkpoints, beginsAgain(store))
})

it('commits copy the log themselves while the thread cannot, and another thread goes on after it', async () => {
  const store = openStore()
  const { asked, spawn } = countingThread(store.path)
  let thread: () => Worker = () => new Worker('throw new Error("on purpose")', { eval: true })
  const checkpoints = createCheckpoints(store.database, () => thread())
  await writeUntil(store, checkpoints, beginsAgain(store))
  expect(store.bytesOfLog()).toBeLessThan(2 * PAGES * BYTES_OF_PAGE)
  thread = spawn
  await writeUntil(store, checkpoints, () => asked.count > 1)
})

it('one thread copies the log, however long there was nothing to copy', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const store = openStore()
  const { spawn } = countingThread(store.path)
  let spawned = 0
  const checkpoints = createCheckpoints(store.database, () => {
    spawned++
    return spawn()
  })
  store.database.script('PRAGMA wal_autocheckpoint = 0')
  await writeUntil(store, checkpoints, beginsAgain(store))
  vi.advanceTimersByTime(600_000)
  await writeUntil(store, checkpoints, beginsAgain(store))
  expect(spawned).toBe(1)
})

it('the log is looked at after each write, but after deliveries only once they may fill enough of it, or after a while', async () => {
  const { database, path } = openStore()
  let looks = 0
  const get: Database['get'] = (sql, ...values) => {
    if (sql === 'PRAGMA wal_checkpoint(NOOP)') looks++
    return database.get(sql, ...values)
  }
  const checkpoints = createCheckpoints({ ...database, get }, countingThread(path).spawn)
  const looksOf = async (times: number, write: () => void): Promise<number> => {
    const before = looks
    for (let time = 0; time < times; time++) {
      checkpoints.admit()
      write()
      checkpoints.afterCommit()
      await new Promise((resolve) => setImmediate(resolve))
    }
    return looks - before
  }
  const begun = performance.now()
  const deliver = (bytes: number) => () => checkpoints.admitDeliveries(bytes)
  await looksOf(1, deliver(1))
  const few = await looksOf(50, deliver(1))
  expect(few).toBeLessThanOrEqual((performance.now() - begun) / 250)
  expect(await looksOf(1, deliver((PAGES / 4) * BYTES_OF_PAGE))).toBe(1)
  expect(await looksOf(50, () => undefined)).toBe(50)
  await checkpoints.close()
})

/** Commits more rows than the log should have, and tells the checkpoints once. */
async function writeMany({ write, database }: Opened, checkpoints: Checkpoints): Promise<void> {
  database.script('PRAGMA wal_autocheckpoint = 0')
  for (let pages = 0; pages < PAGES; pages += PAGES_OF_ROW) write()
  checkpoints.afterCommit()
}

const isCopied = ({ database }: Opened) => {
  const { log, checkpointed } = database.get('PRAGMA wal_checkpoint(NOOP)') as { log: number; checkpointed: number }
  return log === checkpointed
}

describe('a log that could not be copied is tried again by time, though nothing more is committed:', () => {
  it('because of a reader', async () => {
    const store = openStore()
    store.write()
    const { asked, spawn } = countingThread(store.path)
    const checkpoints = createCheckpoints(store.database, spawn)
    const reader = openDatabase(store.path, { readOnly: true })
    onTestFinished(() => reader.close())
    reader.script('BEGIN')
    reader.get('SELECT count(*) FROM row')
    await writeMany(store, checkpoints)
    await until('it was tried several times', () => asked.count > 3)
    expect(isCopied(store)).toBe(false)
    reader.script('COMMIT')
    await until('it is copied', () => isCopied(store))
  })

  it('because the thread died again and again', async () => {
    const store = openStore()
    const { spawn } = countingThread(store.path)
    let deaths = 0
    const dying = () => new Worker('throw new Error("on purpose")', { eval: true })
    const checkpoints = createCheckpoints(store.database, () => (deaths++ < 2 ? dying() : spawn()))
    await writeMany(store, checkpoints)
    await until('it is copied', () => isCopied(store))
    expect(deaths).toBe(3)
  })
})

it('the log is emptied although others copy it at the same time', async () => {
  const store = openStore()
  const copying = `
    const { DatabaseSync } = require('node:sqlite')
    const { parentPort, workerData } = require('node:worker_threads')
    const database = new DatabaseSync(workerData)
    parentPort.postMessage('ready')
    for (;;) database.exec('PRAGMA wal_checkpoint(PASSIVE)')`
  const worker = new Worker(copying, { eval: true, workerData: store.path })
  onTestFinished(async () => void (await worker.terminate()))
  await new Promise((resolve) => worker.once('message', resolve))
  for (let times = 0; times < 100; times++) {
    store.write()
    expect(finish(store.database, emptyLog())).toBe(true)
    expect(store.bytesOfLog()).toBe(0)
  }
})

it('the log is not emptied while somebody reads an old state, and one try keeps other writers waiting', () => {
  const { path, database, write } = openStore()
  write()
  const reader = openDatabase(path, { readOnly: true })
  onTestFinished(() => reader.close())
  reader.script('BEGIN')
  reader.get('SELECT count(*) FROM row')
  write()
  let tries = 0
  const counting: Database = {
    ...database,
    ask(sql, values) {
      tries++
      return database.ask(sql, values)
    },
  }
  expect([finish(counting, emptyLog()), tries]).toEqual([false, 1])
  reader.script('COMMIT')
  expect(finish(counting, emptyLog())).toBe(true)
})

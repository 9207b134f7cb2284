import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { canMount } from '../../support/faults/faults.ts'
import { freePort, runSql } from '../../support/postgres/postgres-server.ts'
import { newPostgresStore } from '../../support/postgres/postgres-session.ts'
import { keyOfSupplier } from '../../support/processes/ledger.ts'
import { deliverOnce, PRODUCTION, serveWithoutStore, untilStored } from '../../support/processes/missing-store.ts'
import { runPrepared } from '../../support/processes/prepared-commands.ts'
import { type ServerProcess, serve, startProcess, teslim } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'

// Servers look for their store once a second.
vi.setConfig({ testTimeout: 60_000 })

const env = PRODUCTION
const mountable = canMount()

/** A folder with a store, and the key of its only customer. */
async function storeElsewhere() {
  const cwd = tempFolder()
  const key = await keyOfSupplier({ cwd, env })
  return { key, data: join(cwd, 'data'), path: join(cwd, 'data/teslim.db') }
}

/** Waits until the server has looked for its store again, more than once. */
async function looksAgain({ ops }: { ops(path: string): Promise<{ readonly text: string }> }, reason: RegExp) {
  await expect.poll(async () => (await ops('/readyz')).text, { timeout: 10_000 }).toMatch(reason)
}

/** Files and links with their sizes and times, without what SQLite makes beside a file to read it. */
const filesIn = (folder: string): string =>
  execFileSync('find', [
    folder,
    '!',
    '-type',
    'd',
    '!',
    '-name',
    '*-wal',
    '!',
    '-name',
    '*-shm',
    '-printf',
    '%p %s %T@ %l\n',
  ]).toString()

/** Waits for two looks of the server. */
async function twoLooks(): Promise<void> {
  const began = performance.now()
  await until('two looks have passed', () => performance.now() - began > 2500)
}

describe('a server that waits for its store', () => {
  const nothing: [string, (data: string) => void, RegExp][] = [
    ['no folder', () => undefined, /teslim\.db \(its folder is missing, too\): check/],
    ['an empty folder, such as a mount point', (data) => mkdirSync(data), /teslim\.db: check/],
    [
      'a file that touch made',
      (data) => {
        mkdirSync(data)
        writeFileSync(join(data, 'teslim.db'), '')
      },
      /\(a file without a store\)/,
    ],
    [
      'a file that a killed start left, without a table',
      (data) => {
        mkdirSync(data)
        const database = new DatabaseSync(join(data, 'teslim.db'))
        database.exec('PRAGMA journal_mode = WAL; PRAGMA user_version = 0; CREATE TABLE a (b); DROP TABLE a')
        database.close()
      },
      /\(a file without a store\)/,
    ],
    [
      'a symbolic link to nothing',
      (data) => {
        mkdirSync(data)
        symlinkSync('/nonexistent/teslim.db', join(data, 'teslim.db'))
      },
      /\(a symbolic link to nothing\)/,
    ],
    [
      'a folder that is a symbolic link to nothing',
      (data) => symlinkSync('/nonexistent/data', data),
      /its folder is missing, too/,
    ],
  ]

  it(`takes ${nothing.map(([what]) => what).join(', and ')} for no store, changes nothing there, and serves what comes in its place`, async () => {
    const { key, data: source } = await storeElsewhere()
    const serves = async ([what, make, reason]: (typeof nothing)[number]): Promise<void> => {
      const cwd = tempFolder()
      const data = join(cwd, 'data')
      make(data)
      const before = filesIn(cwd)
      const server = await serveWithoutStore(cwd)
      await looksAgain(server, reason)
      await twoLooks()
      expect(await deliverOnce(server, key), what).toBe(503)
      expect(filesIn(cwd), what).toBe(before)

      rmSync(data, { recursive: true, force: true })
      await twoLooks()
      expect(readdirSync(cwd), what).toEqual([])
      cpSync(source, data, { recursive: true })
      expect(await untilStored(server, key), what).toEqual(expect.not.arrayContaining([401]))
      expect(server.child.exitCode, what).toBeNull()
    }
    await Promise.all(nothing.map(serves))
  })

  it('follows a symbolic link as soon as it leads to a store', async () => {
    const { key, path } = await storeElsewhere()
    const cwd = tempFolder()
    mkdirSync(join(cwd, 'data'))
    symlinkSync(join(cwd, 'mounted.db'), join(cwd, 'data/teslim.db'))
    const server = await serveWithoutStore(cwd)
    renameSync(path, join(cwd, 'mounted.db'))
    expect(await untilStored(server, key)).not.toContain(401)
  })

  it('serves a backup as soon as it is restored, by the keys in it', async () => {
    const { key, data } = await storeElsewhere()
    const [cwd, backups] = [tempFolder(), tempFolder()]
    const backup = join(backups, 'monday.db')
    expect((await runPrepared(['backup', backup], { cwd: join(data, '..'), env })).status).toBe(0)
    const server = await serveWithoutStore(cwd)
    expect((await teslim(['restore', backup], { cwd, env })).status).toBe(0)
    expect(await untilStored(server, key)).not.toContain(401)
  })

  it.runIf(mountable)('serves the store of a disk that is mounted over its empty folder', async () => {
    const { key, data: source } = await storeElsewhere()
    const cwd = tempFolder()
    const data = join(cwd, 'data')
    mkdirSync(data)
    const server = await serveWithoutStore(cwd)
    execFileSync('mount', ['--bind', source, data])
    onTestFinished(() => void execFileSync('umount', ['--lazy', data]))
    expect(await untilStored(server, key)).not.toContain(401)
    expect((await server.ops('/readyz')).status).toBe(200)
  })

  it('does not open a file that is being copied there before it is whole', async () => {
    const { key, path } = await storeElsewhere()
    const cwd = tempFolder()
    mkdirSync(join(cwd, 'data'))
    const server = await serveWithoutStore(cwd)
    const bytes = readFileSync(path)
    const copy = join(cwd, 'data/teslim.db')
    for (let at = 0; at < bytes.length; at += bytes.length / 8) {
      appendFileSync(copy, bytes.subarray(at, at + bytes.length / 8))
      const began = performance.now()
      await until('some time has passed', () => performance.now() - began > 400)
      expect(readdirSync(join(cwd, 'data'))).toEqual(['teslim.db'])
    }
    expect(readFileSync(copy).equals(bytes)).toBe(true)
    expect(await untilStored(server, key)).not.toContain(401)
  })

  const unusable: [string, (path: string) => void, RegExp][] = [
    [
      "another application's file",
      (path) => new DatabaseSync(path).exec('CREATE TABLE theirs (a)'),
      /belongs to another application/,
    ],
    [
      'no database at all',
      (path) => writeFileSync(path, 'a text\n'.repeat(1000)),
      /cannot be opened: .*not a database/,
    ],
    [
      'a store of a newer version',
      (path) =>
        new DatabaseSync(path).exec(
          "UPDATE schema_migration SET number = number + 100, oldest = oldest + 100, version = '9.0.0'",
        ),
      /run teslim 9\.0\.0 or a later one/,
    ],
  ]

  it(`says of ${unusable.map(([what]) => what).join(', and ')} what is wrong, goes on waiting, and serves the store that takes its place`, async () => {
    const { key, data: source } = await storeElsewhere()
    const waits = async ([what, make, reason]: (typeof unusable)[number]): Promise<void> => {
      const cwd = tempFolder()
      const data = join(cwd, 'data')
      const server = await serveWithoutStore(cwd)
      if (what.includes('newer')) cpSync(source, join(cwd, 'new'), { recursive: true })
      else mkdirSync(join(cwd, 'new'))
      make(join(cwd, 'new/teslim.db'))
      renameSync(join(cwd, 'new'), data)
      await looksAgain(server, reason)
      await server.printed(/"still not open"/)
      expect(await deliverOnce(server, key), what).toBe(503)
      await twoLooks()
      expect(server.output().split('still not open'), what).toHaveLength(2)
      renameSync(data, join(cwd, 'wrong'))
      cpSync(source, data, { recursive: true })
      expect(await untilStored(server, key), what).not.toContain(401)
    }
    await Promise.all(unusable.map(waits))
  })

  it('waits for the end of another server on the store, and then takes its place', async () => {
    const { key, data: source } = await storeElsewhere()
    const cwd = tempFolder()
    const data = join(cwd, 'data')
    const servers = await Promise.all([serveWithoutStore(cwd), serveWithoutStore(cwd)])
    cpSync(source, data, { recursive: true })
    await expect
      .poll(async () => (await Promise.all(servers.map((each) => deliverOnce(each, key)))).sort(), { timeout: 20_000 })
      .toEqual([200, 503])
    const [first = servers[0], second = servers[1]] = servers.filter(() => true)
    const serving = (await deliverOnce(first, key)) === 200 ? first : second
    const waiting = serving === first ? second : first
    await waiting.printed(/is in use by process/)
    serving.child.kill('SIGTERM')
    expect(await serving.ended).toBe(0)
    expect(await untilStored(waiting, key)).not.toContain(401)
  })

  it('ends with the reason when the store that comes has keys of another secret, as at any start', async () => {
    const cwd = tempFolder()
    const secret = { ...env, TESLIM_SECRET: 'a secret of thirty-two characters' }
    const { key, data } = await storeElsewhere()
    await runPrepared(['signing-key', 'rotate'], { cwd: join(data, '..'), env: secret })
    const server = await serveWithoutStore(cwd, { TESLIM_SECRET: 'another secret, just as long as it' })
    cpSync(data, join(cwd, 'data'), { recursive: true })
    expect(await server.ended).toBe(1)
    expect(server.output()).toMatch(/teslim serve: .*TESLIM_SECRET/)
    expect(await untilStored(await serve({ cwd, env: secret }), key)).toEqual([200])
  })
})

/** Starts a server again whenever it ends by itself, as systemd does. */
async function supervise(cwd: string, more: Record<string, string>) {
  const PORT = `${await freePort()}`
  const url = `http://127.0.0.1:${PORT}`
  let stopped = false
  let child = startProcess(['serve'], { cwd, env: { ...env, ...more, PORT, TESLIM_OPS_PORT: '0' } })
  let starts = 1
  const watch = (): void =>
    void child.once('exit', () => {
      if (stopped) return
      starts++
      child = startProcess(['serve'], { cwd, env: { ...env, ...more, PORT, TESLIM_OPS_PORT: '0' } })
      watch()
    })
  watch()
  onTestFinished(() => {
    stopped = true
    child.kill('SIGKILL')
  })
  return { url, starts: () => starts, kill: () => child.kill('SIGKILL') }
}

/** Delivers all the time, and notes what was answered; 0 is no answer. */
function keepDelivering(server: Pick<ServerProcess, 'url'>, key: string) {
  const statuses: number[] = []
  let stopped = false
  const all = (async () => {
    while (!stopped) {
      statuses.push(await deliverOnce(server, key).catch(() => 0))
      const length = performance.now()
      await until('a moment has passed', () => performance.now() - length > 20)
    }
  })()
  return {
    statuses,
    async stop() {
      stopped = true
      await all
    },
  }
}

describe('a disk that is lost, and comes back', () => {
  it('means 503 until it is back and then 200 for the old key, never 401 and never another store (sqlite)', async () => {
    const cwd = tempFolder()
    const key = await keyOfSupplier({ cwd, env })
    const server = await supervise(cwd, {})
    await untilStored(server, key)
    const load = keepDelivering(server, key)
    renameSync(join(cwd, 'data'), join(cwd, 'lost'))
    await until('the server has started again and waits', () => server.starts() > 1 && load.statuses.at(-1) === 503)
    await twoLooks()
    expect(readdirSync(cwd)).toEqual(['lost'])
    mkdirSync(join(cwd, 'data'))
    server.kill()
    await until(
      'a server has started over the empty mount point',
      () => server.starts() > 2 && load.statuses.at(-1) === 503,
    )
    await twoLooks()
    expect(readdirSync(join(cwd, 'data'))).toEqual([])
    rmdirSync(join(cwd, 'data'))
    renameSync(join(cwd, 'lost'), join(cwd, 'data'))
    await until('a delivery is stored again', () => load.statuses.at(-1) === 200)
    await load.stop()
    expect(load.statuses.filter((status) => ![0, 200, 503].includes(status))).toEqual([])
  })

  it('means 503 until it is back and then 200 for the old key, never 401 and never another store (postgres)', async () => {
    const cwd = tempFolder()
    const DATABASE_URL = await newPostgresStore()
    const key = await keyOfSupplier({ cwd, env: { ...env, DATABASE_URL } })
    const server = await supervise(cwd, { DATABASE_URL })
    await untilStored(server, key)
    server.kill()
    await runSql(DATABASE_URL, 'ALTER SCHEMA public RENAME TO lost; CREATE SCHEMA public')
    const load = keepDelivering(server, key)
    await until('the server has started again and waits', () => load.statuses.at(-1) === 503)
    await twoLooks()
    expect(await runSql(DATABASE_URL, "SELECT FROM pg_tables WHERE schemaname = 'public'")).toEqual([])
    await runSql(DATABASE_URL, 'DROP SCHEMA public; ALTER SCHEMA lost RENAME TO public')
    await until('a delivery is stored again', () => load.statuses.at(-1) === 200)
    await load.stop()
    expect(load.statuses.filter((status) => ![0, 200, 503].includes(status))).toEqual([])
  })
})

import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { newDatabase, runSql } from '../support/postgres/postgres-server.ts'
import {
  type Acknowledged,
  deliver as deliverUntilStopped,
  makeSupplier,
  missingFrom,
} from '../support/processes/ledger.ts'
import { untilStored } from '../support/processes/missing-store.ts'
import {
  executablesOf,
  MIGRATIONS,
  NEXT_MIGRATION,
  NEXT_VERSION,
  nextVersion,
  THIS_VERSION,
} from '../support/processes/next-version.ts'
import { runPrepared } from '../support/processes/prepared-commands.ts'
import { type RunOptions, serve, teslim } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const BESIDE = '-- Runs with programs from 0001 on.\n'
const add = (column: string) => ({
  sqlite: `${BESIDE}ALTER TABLE customer ADD COLUMN ${column} INTEGER`,
  postgres: `${BESIDE}ALTER TABLE customer ADD COLUMN ${column} bigint`,
})
/** Versions of the same tree with one more migration: one that this version may run beside, another program's, one that it may not run beside. */
let next: string
let other: string
let apart: string

const APART = { sqlite: 'CREATE TABLE apart (a)', postgres: 'CREATE TABLE apart (a integer)' }

beforeAll(() => {
  next = nextVersion(add('later'))
  other = nextVersion(add('other'))
  apart = nextVersion(APART)
})

interface Place {
  readonly cwd: string
  readonly env: Record<string, string>
  run(sql: string): Promise<unknown>
  /** Returns the deliveries that are not in the store. */
  missing(acknowledged: readonly Acknowledged[]): Promise<readonly Acknowledged[]>
}

async function inFile(): Promise<Place> {
  const cwd = tempFolder()
  const run = async (sql: string) => {
    const database = new DatabaseSync(join(cwd, 'data/teslim.db'))
    try {
      return database.prepare(sql).all()
    } finally {
      database.close()
    }
  }
  const missing = async (acknowledged: readonly Acknowledged[]) =>
    missingFrom(join(cwd, 'data/teslim.db'), acknowledged)
  return { cwd, env: {}, run, missing }
}

async function onServer(): Promise<Place> {
  const url = await newDatabase(inject('postgresUrl'))
  const run = (sql: string) => runSql(url, sql)
  const missing = async (acknowledged: readonly Acknowledged[]) => {
    const rows = await run(`SELECT receipt, convert_from(payload, 'UTF8') AS body FROM delivery`)
    const stored = new Map(rows.map(({ receipt, body }) => [receipt, body]))
    return acknowledged.filter(({ receipt, body }) => stored.get(receipt) !== body)
  }
  return { cwd: tempFolder(), env: { DATABASE_URL: url }, run, missing }
}

/** A store with a supplier, whose key it returns. */
async function withSupplier({ cwd, env }: Place): Promise<string> {
  const options = { cwd, env, stdin: 'a long password' }
  await runPrepared(['customer', 'add', '--email', 'a@b.co', '--api', '--allow', '*', '--password-stdin'], options)
  const { stdout } = await runPrepared(['key', 'issue', '--customer', 'a@b.co', '--json'], { cwd, env })
  return JSON.parse(stdout).key
}

async function deliver(url: string, apiKey: string): Promise<number> {
  const body = JSON.stringify({ OrderID: randomUUID(), Status: 1 })
  return (await fetch(`${url}/Purchase/update`, { method: 'POST', headers: { ApiKey: apiKey }, body })).status
}

type Version = 'now' | 'next'

/**
 * Serves a store with this version, which is killed under load, then with the next one, which is killed in the same way, and goes back.
 * `install` returns what starts a version from then on.
 */
async function upgradeUnderLoad(place: Place, install: (version: Version) => Omit<RunOptions, 'cwd'>): Promise<void> {
  const where = { cwd: place.cwd, env: { NODE_ENV: 'production', ...place.env } }
  const { key } = await makeSupplier(where)
  const acknowledged: Acknowledged[] = []
  const serveUnderLoad = async (version: Version) => {
    const { url, child, ended } = await serve({ ...where, ...install(version) })
    const load = deliverUntilStopped({ url, key })
    await load.more(300)
    child.kill('SIGKILL')
    await load.stop()
    acknowledged.push(...load.acknowledged)
    // On a busy machine a server that has just started may refuse for a moment.
    const usual = [0, 503]
    expect([await ended, [...load.others.keys()].filter((status) => !usual.includes(status))]).toEqual([null, []])
  }

  await serveUnderLoad('now')
  expect(await applied(place)).toEqual(NOW)
  await serveUnderLoad('next')
  expect(await applied(place)).toEqual(NEXT)

  const before = install('now')
  for (const command of [['serve'], ['customer', 'list']]) {
    const env = { PORT: '0', TESLIM_OPS_PORT: '0', ...where.env }
    expect(await teslim(command, { ...where, env, ...before })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`${TOO_NEW} or a later one.`),
    })
  }
  const statuses = await untilStored(await serve({ ...where, ...install('next') }), key)
  expect([[200], [503, 200]]).toContainEqual(statuses)
  expect(await place.missing(acknowledged)).toEqual([])
  expect(acknowledged.length).toBeGreaterThanOrEqual(600)
}

it('a version that comes after the next one adds the number after its', async () => {
  const latest = nextVersion(add('latest'), next)
  const { stdout } = await teslim(['migrate', '--json'], { cwd: tempFolder(), program: latest })
  const after = `${String(NEXT.length + 1).padStart(4, '0')}-next`
  expect(JSON.parse(stdout).applied).toEqual([...MIGRATIONS, NEXT_MIGRATION, after])
})

describe('the executable', () => {
  it('is upgraded by replacing it, killed under load, with nothing lost; the one before says which schema it lacks', {
    timeout: 300_000,
  }, async ({ skip }) => {
    const executables = executablesOf(APART)
    if (executables === undefined) {
      console.info('no executable is upgraded: the build makes none for this platform')
      return skip('the build makes no executable for this platform')
    }
    const path = join(tempFolder(), 'teslim')
    await upgradeUnderLoad(await inFile(), (version) => {
      execFileSync('install', ['-m', '755', executables[version], path])
      return { program: path }
    })
  })
})

const applied = ({ run }: Place) => run('SELECT number, name FROM schema_migration ORDER BY number')
const rowOf = (migration: string) => ({ number: Number(migration.slice(0, 4)), name: migration.slice(5) })
const NOW = MIGRATIONS.map(rowOf)
const NEXT = [...NOW, rowOf(NEXT_MIGRATION)]
const TOO_NEW = `The store is at schema ${NEXT.length}, teslim ${THIS_VERSION} knows schemas up to ${NOW.length}: run teslim ${NEXT_VERSION}`

describe.each([
  ['a file', inFile],
  ['PostgreSQL', onServer],
] as const)('a store in %s', (kind, make) => {
  it('is read by the next version before that has migrated, and served by both afterwards', {
    timeout: 60_000,
  }, async () => {
    const place = await make()
    const key = await withSupplier(place)
    const { cwd, env } = place
    const newer = { cwd, env, program: next }
    expect(await teslim(['customer', 'list', '--json'], newer)).toMatchObject({ status: 0, stderr: '' })
    expect((await teslim(['doctor'], newer)).stdout).toContain(`lacks ${NEXT_MIGRATION}: run teslim migrate`)
    expect(await applied(place)).toEqual(NOW)
    expect(await teslim(['migrate'], newer)).toMatchObject({ status: 0, stdout: `applied ${NEXT_MIGRATION}\n` })
    expect(await applied(place)).toEqual(NEXT)
    const now = await serve({ cwd, env })
    expect(await deliver(now.url, key)).toBe(200)
    if (kind === 'a file') {
      now.child.kill('SIGTERM')
      await now.ended
    }
    const later = await serve(newer)
    expect(await deliver(later.url, key)).toBe(200)
    if (kind !== 'a file') expect(await deliver(now.url, key)).toBe(200)
  })

  it('is taken over by the next version from one that was killed under load, with nothing lost', {
    timeout: 120_000,
  }, async () => {
    await upgradeUnderLoad(await make(), (version) => (version === 'now' ? {} : { program: apart }))
  })

  it('that lacks what a reading command needs is named, and not migrated', async () => {
    const place = await make()
    const newer = { cwd: place.cwd, env: place.env, program: next }
    await runPrepared(['migrate'], newer)
    await place.run('DROP TABLE audit_event')
    expect(await teslim(['audit', 'list'], newer)).toEqual({
      status: 1,
      stdout: '',
      stderr: `teslim audit list: The store lacks ${NEXT_MIGRATION}, which this command needs: run "teslim migrate".\n`,
    })
    if (kind === 'a file') {
      const copied = await teslim(['copy', '--to', 'postgres://u@127.0.0.1:1/x'], newer)
      expect(copied).toMatchObject({
        status: 1,
        stderr: expect.stringContaining(`lacks ${NEXT_MIGRATION}: run "teslim migrate"`),
      })
    }
    expect(await applied(place)).toEqual(NOW)
  })

  it('is refused by a version that does not know a migration which it cannot run beside', {
    timeout: 60_000,
  }, async () => {
    const place = await make()
    const { cwd, env } = place
    expect(await teslim(['migrate'], { cwd, env, program: apart })).toMatchObject({ status: 0 })
    for (const command of [['serve'], ['customer', 'list'], ['migrate']]) {
      const { status, stderr } = await teslim(command, { cwd, env: { PORT: '0', TESLIM_OPS_PORT: '0', ...env } })
      expect([status, stderr]).toEqual([1, expect.stringContaining(TOO_NEW)])
    }
    expect(await applied(place)).toEqual(NEXT)
  })

  it("is refused with one sentence if its migration of this number is another program's, and stays as it is", {
    timeout: 60_000,
  }, async () => {
    const place = await make()
    const { cwd, env } = place
    expect(await teslim(['migrate'], { cwd, env, program: other })).toMatchObject({ status: 0 })
    const [its, ours] = [`${NEXT_MIGRATION} \\([0-9a-f]{12}\\)`, `the ${NEXT_MIGRATION} \\([0-9a-f]{12}\\)`]
    const sentence = new RegExp(
      `The store was made by another version of teslim: its migration ${its} is not ${ours} of this one\\. Nothing was changed\\. `,
    )
    for (const command of [['serve'], ['customer', 'list'], ['migrate'], ['key', 'list']]) {
      const { status, stderr } = await teslim(command, {
        cwd,
        env: { PORT: '0', TESLIM_OPS_PORT: '0', ...env },
        program: next,
      })
      expect([status, stderr.trim().split('\n').at(-1)]).toEqual([1, expect.stringMatching(sentence)])
    }
    const { status, stdout } = await teslim(['doctor'], { cwd, env, program: next })
    expect([status, stdout]).toEqual([1, expect.stringMatching(sentence)])
    await expect(place.run('SELECT later FROM customer')).rejects.toThrow()
  })

  it('whose tables do not take a delivery any more is not ready, before one comes and after', {
    timeout: 60_000,
  }, async () => {
    const place = await make()
    const key = await withSupplier(place)
    const { cwd, env } = place
    const { url } = await serve({ cwd, env })
    const ready = async () => (await fetch(`${url}/readyz`)).status
    expect(await ready()).toBe(200)
    await place.run(kind === 'a file' ? 'DROP TABLE idempotency' : 'ALTER TABLE idempotency RENAME kept_at TO kept')
    await expect.poll(ready, { timeout: 12_000 }).toBe(503)
    const body = await (await fetch(`${url}/readyz`)).text()
    expect(body).toContain('its tables are not those of this version of teslim')
    const { status, stdout } = await teslim(['doctor'], { cwd, env })
    expect([status, stdout]).toEqual([1, expect.stringContaining('its tables are not those of this version of teslim')])
    expect(key).toMatch(/^tsl_/)
  })
})

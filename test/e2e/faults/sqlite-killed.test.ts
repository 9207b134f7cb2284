import type { ChildProcess } from 'node:child_process'
import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import { canTrace, killedAt } from '../../support/faults/faults.ts'
import { newDatabase } from '../../support/postgres/postgres-server.ts'
import { deliver, keyOfSupplier, missingFrom } from '../../support/processes/ledger.ts'
import { runPrepared } from '../../support/processes/prepared-commands.ts'
import {
  COMMAND_PATTERN,
  type ServerProcess,
  serve,
  serveSandbox,
  startProcess,
  teslim,
} from '../../support/processes/process.ts'
import { randomBelow } from '../../support/random.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'

if (process.platform !== 'linux')
  console.log('starts killed at random moments: skipped, processor time is read from /proc')

const traceable = canTrace()
const MIGRATIONS = readdirSync(new URL('../../../src/store/sqlite/migrations/', import.meta.url))
  .map((name) => name.replace(/\.sql$/, ''))
  .sort()

const CREDENTIALS = /e-mail +(\S+)\s+password +(\S+)\s+ApiKey +(\S+)\s/

/** The milliseconds of a processor that a process has used so far (in /proc, in ticks of 10 ms). It has ended: forever. */
function processorTime({ pid, exitCode }: ChildProcess): number {
  if (exitCode !== null) return Number.POSITIVE_INFINITY
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11, 13) ?? []
  return (Number(user) + Number(system)) * 10
}

let store: Promise<string> | undefined

/** The folder of a store without a customer, to be copied. */
function migrated(): Promise<string> {
  const cwd = tempFolder()
  store ??= runPrepared(['migrate'], { cwd }).then(() => join(cwd, 'data'))
  return store
}

/** That the file is sound and has each migration once. */
function expectWhole(path: string): void {
  expect(missingFrom(path, [])).toEqual([])
  const database = new DatabaseSync(path)
  const rows = database.prepare('SELECT number, name FROM schema_migration ORDER BY number').all()
  database.close()
  expect(rows.map(({ number, name }) => `${String(number).padStart(4, '0')}-${name}`)).toEqual(MIGRATIONS)
}

describe('a first start that is killed', () => {
  it.runIf(traceable)(
    'at a write or sync of its migrations leaves all of them or none, and the next one works',
    { timeout: 60_000 },
    async () => {
      const moments = [
        ...[1, 4, 5, 7].map((nth) => ['fsync', nth] as const),
        ...[3, 25].map((nth) => ['pwrite64', nth] as const),
      ]
      let killed = 0
      for (const [call, nth] of moments) {
        const cwd = tempFolder()
        const { status } = await teslim(['migrate'], { cwd, through: killedAt(call, nth) })
        if (status === null) killed++
        const { stdout } = await runPrepared(['migrate', '--json'], { cwd })
        expect([[], MIGRATIONS]).toContainEqual(JSON.parse(stdout).applied)
        expectWhole(join(cwd, 'data/teslim.db'))
      }
      expect(killed).toBeGreaterThanOrEqual(4)
    },
  )

  it.runIf(process.platform === 'linux')(
    'at random moments, again and again, leaves a store on which the next one works',
    async () => {
      const cwd = tempFolder()
      const env = { NODE_ENV: 'production' }
      for (let round = 0; round < 4; round++) {
        // In production a start makes no store.
        const child = startProcess(['serve'], { cwd, env: { PORT: '0' } })
        onTestFinished(() => void child.kill('SIGKILL'))
        const milliseconds = 50 + randomBelow(400)
        await until(`the start has used ${milliseconds} ms of a processor`, () => processorTime(child) >= milliseconds)
        child.kill('SIGKILL')
      }
      const key = await keyOfSupplier({ cwd, env })
      const { url } = await serve({ cwd, env })
      const load = deliver({ url, key })
      await load.more(20)
      await load.stop()
      expectWhole(join(cwd, 'data/teslim.db'))
      expect(missingFrom(join(cwd, 'data/teslim.db'), load.acknowledged)).toEqual([])
    },
  )

  it.runIf(traceable).each([
    ['customer is committed', 3],
    ['key is committed', 5],
  ])(
    'when the %s leaves no sandbox that nobody can log in to: the next start prints credentials, or commands that give new ones',
    async (_, nth) => {
      const cwd = tempFolder()
      // So that the syncs of the writer thread are counted alone; its first two are for the new log and its folder.
      cpSync(await migrated(), join(cwd, 'data'), { recursive: true })
      const child = startProcess(['serve'], { cwd, env: { PORT: '0' }, through: killedAt('fsync', nth) })
      onTestFinished(() => void child.kill('SIGKILL'))
      let printed = ''
      for await (const text of child.stdout.setEncoding('utf8')) {
        printed += text
        if (/ApiKey +tsl_/.test(printed)) child.kill('SIGKILL')
      }
      expect(printed).not.toMatch(/ApiKey +tsl_/)

      const server = await serve({ cwd })
      const { Email, Password, key } = await credentialsFrom(server, cwd)
      const load = deliver({ url: server.url, key, clients: 1 })
      await load.more(1)
      await load.stop()
      const logIn = await fetch(`${server.url}/Login/Customer/Api/Verify`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ Email, Password }),
      })
      expect(logIn.status).toBe(200)
    },
  )
})

it('a start on a store with the sandbox customer says how to get new credentials, and they work', async () => {
  const cwd = tempFolder()
  const first = await serveSandbox({ cwd })
  first.server.child.kill('SIGKILL')
  await first.server.ended
  const server = await serve({ cwd })
  await server.printed(/has the sandbox customer sandbox@example\.com/)
  const { key } = await credentialsFrom(server, cwd)
  const load = deliver({ url: server.url, key, clients: 1 })
  await load.more(1)
  await load.stop()
  expect(key).not.toBe(first.apiKey)
})

/** As somebody at the terminal gets them. */
async function credentialsFrom(server: ServerProcess, cwd: string) {
  await server.printed(/ApiKey +tsl_|key issue --customer/)
  const [, Email, Password, key] = CREDENTIALS.exec(server.output()) ?? []
  if (key !== undefined) return { Email, Password, key }
  const [setPassword = [], issue = []] = Array.from(
    server.output().matchAll(new RegExp(`^ {2}${COMMAND_PATTERN} (.+)`, 'gm')),
    ([, args = '']) => args.split(' '),
  )
  const changed = JSON.parse((await runPrepared([...setPassword, '--json'], { cwd })).stdout)
  const issued = JSON.parse((await runPrepared([...issue, '--json'], { cwd })).stdout)
  return { Email: changed.email, Password: changed.password, key: issued.key as string }
}

it('a copy to PostgreSQL that is killed again and again goes on where it was, and ends with everything', {
  timeout: 60_000,
}, async () => {
  const cwd = tempFolder()
  const env = { NODE_ENV: 'production' }
  const path = join(cwd, 'data/teslim.db')
  const key = await keyOfSupplier({ cwd, env })
  const server = await serve({ cwd, env })
  const load = deliver({ url: server.url, key })
  await load.more(200)
  await load.stop()
  server.child.kill('SIGTERM')
  await server.ended
  const rows = enlarge(path, 25)

  const to = await newDatabase(inject('postgresUrl'))
  const target = new pg.Client({ connectionString: to })
  await target.connect()
  onTestFinished(() => target.end())
  const copied = async (): Promise<number> => {
    const { rows } = await target.query(`SELECT to_regclass('delivery') IS NOT NULL AS made`)
    if (!rows[0].made) return -1
    return (await target.query('SELECT count(*)::integer AS count FROM delivery')).rows[0].count
  }
  const kills: number[] = []
  for (const share of [-1, 0, 0.5, 1]) {
    const child = startProcess(['copy', '--to', to], { cwd, env })
    onTestFinished(() => void child.kill('SIGKILL'))
    const ended = new Promise((resolve) => child.once('close', resolve))
    const beyond = share === -1 ? -1 : share === 0 ? 1 : share * rows
    await until(`${beyond} rows are copied`, async () => child.exitCode !== null || (await copied()) >= beyond)
    child.kill('SIGKILL')
    await ended
    if (child.signalCode === 'SIGKILL') kills.push(await copied())
    // Only a complete copy keeps servers from the file.
    if (share < 1)
      expect(JSON.parse((await runPrepared(['doctor', '--json'], { cwd, env })).stdout).status).not.toBe('failed')
  }
  const { status, stderr, stdout } = await runPrepared(['copy', '--to', to, '--json'], { cwd, env })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(JSON.parse(stdout).tables).toContainEqual(expect.objectContaining({ name: 'delivery', rows }))
  expect(kills.length).toBeGreaterThanOrEqual(3)
  expect(await copied()).toBe(rows)
  const { rows: found } = await target.query('SELECT receipt::text, payload FROM delivery WHERE receipt = ANY($1)', [
    load.acknowledged.map(({ receipt }) => receipt),
  ])
  const payloads = new Map(found.map(({ receipt, payload }) => [receipt, payload.toString()]))
  expect(load.acknowledged.filter(({ receipt, body }) => payloads.get(receipt) !== body)).toEqual([])
})

/** Adds so many times the deliveries that are there, and returns how many there are then. */
function enlarge(path: string, times: number): number {
  const database = new DatabaseSync(path)
  database.exec(`
    INSERT INTO delivery (receipt, customer, status, received_at, payload)
      WITH RECURSIVE copies (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM copies WHERE number < ${times})
      SELECT randomblob(16), customer, status, received_at, payload FROM delivery, copies`)
  const { rows } = database.prepare('SELECT count(*) AS rows FROM delivery').get() ?? {}
  database.close()
  return rows as number
}

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { ask } from '../support/app/ask.ts'
import { runSql } from '../support/postgres/postgres-server.ts'
import { newPostgresStore } from '../support/postgres/postgres-session.ts'
import { makeSupplier } from '../support/processes/ledger.ts'
import { runPrepared } from '../support/processes/prepared-commands.ts'
import { type RunOptions, type ServerProcess, serve, startProcess } from '../support/processes/process.ts'
import { randomBelow } from '../support/random.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { pace, until } from '../support/until.ts'

const HOUR = 3_600_000
const ROUNDS = 2
/** Leaves both cores to the servers, which start while this load goes on. */
const PAUSE_MILLISECONDS = 50

/** Remembers each delivery in the transaction that stores it, for deliveries are purged and answers get lost. */
const MEMORY = {
  sqlite: 'CREATE TABLE accepted (position INTEGER PRIMARY KEY, customer, received_at, status, echo)',
  postgres: `
    CREATE TABLE accepted (position bigint PRIMARY KEY, customer bigint, received_at bigint, status integer, echo boolean);
    CREATE FUNCTION remember() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO accepted VALUES (NEW.position, NEW.customer, NEW.received_at, NEW.status, NEW.echo_of IS NOT NULL);
      RETURN NULL;
    END $$`,
}
const REMEMBER = {
  sqlite: `
    CREATE TRIGGER remember AFTER INSERT ON delivery BEGIN
      INSERT INTO accepted VALUES (NEW.position, NEW.customer, NEW.received_at, NEW.status, NEW.echo_of IS NOT NULL);
    END`,
  postgres: 'CREATE TRIGGER remember AFTER INSERT ON delivery FOR EACH ROW EXECUTE FUNCTION remember()',
}
const FORGET = { sqlite: 'DROP TRIGGER remember', postgres: 'DROP TRIGGER remember ON delivery' }

interface Place extends RunOptions {
  readonly replicas: number
  sql(text: string): Promise<Record<string, unknown>[]>
}

const places = {
  async sqlite(): Promise<Place> {
    const cwd = tempFolder()
    const sql = async (text: string) => {
      const database = new DatabaseSync(join(cwd, 'data/teslim.db'), { timeout: 10_000 })
      try {
        if (/^\s*SELECT/.test(text)) return database.prepare(text).all()
        database.exec(text)
        return []
      } finally {
        database.close()
      }
    }
    return { cwd, env: { NODE_ENV: 'production' }, replicas: 1, sql }
  },
  async postgres(): Promise<Place> {
    const url = await newPostgresStore()
    const env = { NODE_ENV: 'production', DATABASE_URL: url }
    return { cwd: tempFolder(), env, replicas: 2, sql: (text) => runSql(url, text) }
  },
}

/** Suppliers that send few different bodies, so that many are echoes, and some of them again with the same key. */
function load(servers: () => readonly ServerProcess[], keys: readonly string[]) {
  let accepted = 0
  let stopped = false
  const client = async (number: number): Promise<void> => {
    while (!stopped) {
      const all = servers()
      const order = ['"OrderID":"a",', '"OrderID":"b",', ''][randomBelow(3)]
      const body = `{${order}"Status":${randomBelow(4)},"n":${randomBelow(2)}}`
      const key = keys[number % keys.length] ?? ''
      const idempotency = randomBelow(4) === 0 ? { 'idempotency-key': `${body} ${randomBelow(50)}` } : undefined
      const headers = { ApiKey: key, ...idempotency }
      const url = `${all[(number >> 1) % all.length]?.url}/Purchase/update`
      const answer = await ask(url, { method: 'POST', headers, body }).catch(() => undefined)
      if (answer?.status === 200) accepted++
      await pace(PAUSE_MILLISECONDS)
    }
  }
  const all = Promise.all(Array.from({ length: 8 }, (_, number) => client(number)))
  return {
    more: (count: number) => {
      const wanted = accepted + count
      return until(`${count} more are accepted`, () => accepted >= wanted)
    },
    async stop() {
      stopped = true
      await all
    },
  }
}

it.each(['sqlite', 'postgres'] as const)(
  'servers and purges that are killed at any moment leave counts by hour that equal what was accepted, on %s',
  async (name) => {
    const place = await places[name]()
    const one = await makeSupplier(place)
    const run = async (...args: string[]) => JSON.parse((await runPrepared([...args, '--json'], place)).stdout)
    const other = await run('customer', 'add', '--email', 'other@b.co', '--generate', '--allow', '*')
    const { key } = await run('key', 'issue', '--customer', other.id)
    await place.sql(MEMORY[name])

    const servers: ServerProcess[] = []
    const start = async (): Promise<void> => void servers.push(await serve(place))
    for (let replica = 0; replica < place.replicas; replica++) await start()
    await place.sql(REMEMBER[name])
    const begin = () => load(() => servers, [one.key, key])
    let suppliers = begin()
    for (let round = 0; round < ROUNDS; round++) {
      await suppliers.more(20 + randomBelow(100))
      const purging = startProcess(['purge', '--older', '0', ...(round % 2 === 0 ? ['--orders'] : [])], place)
      const purged = new Promise((resolve) => purging.once('exit', resolve))
      await suppliers.more(10 + randomBelow(60))
      if (randomBelow(2) === 0) purging.kill('SIGKILL')
      const [victim] = servers
      victim?.child.kill('SIGKILL')
      await Promise.all([purged, victim?.ended])
      // No server starts on a store with a trigger that teslim does not make.
      await suppliers.stop()
      await place.sql(FORGET[name])
      await start()
      await place.sql(REMEMBER[name])
      servers.shift()
      suppliers = begin()
    }
    await suppliers.more(50)
    await suppliers.stop()
    // However early the others were killed.
    await run('purge', '--older', '0', '--orders')

    const stored = await place.sql('SELECT customer, received_at, status, echo FROM accepted')
    const left = await place.sql('SELECT count(*) AS count FROM delivery')
    expect(Number(left[0]?.count)).toBeLessThan(stored.length)
    const numbers = new Map([
      [undefined, undefined],
      [one.id, 1],
      [other.id, 2],
    ])
    const compare = async (): Promise<void> => {
      for (const [customer, number] of numbers) {
        const answer = await run('stats', ...(customer === undefined ? [] : ['--customer', customer]))
        const theirs = stored.filter((each) => number === undefined || Number(each.customer) === number)
        expect(Object.fromEntries(hoursOf(answer))).toEqual(Object.fromEntries(recount(theirs)))
      }
    }
    await compare()
    await until('all are counted', async () => {
      const [row] = await place.sql('SELECT position, (SELECT max(position) FROM accepted) AS last FROM roll_up')
      return Number(row?.position) === Number(row?.last)
    })
    await compare()
    for (const { child, ended } of servers) {
      child.kill('SIGTERM')
      expect(await ended).toBe(0)
    }
  },
  120_000,
)

interface Period {
  readonly From: string
  readonly Deliveries: { readonly Total: number; readonly ByStatus: Record<string, number> }
  readonly Echoes: number
}

const hoursOf = ({ Periods }: { readonly Periods: readonly Period[] }) =>
  Periods.filter(({ Deliveries }) => Deliveries.Total > 0).map(
    ({ From, Deliveries, Echoes }) => [From, [...Object.values(Deliveries.ByStatus), Echoes]] as const,
  )

function recount(stored: readonly Record<string, unknown>[]): Map<string, number[]> {
  const hours = new Map<string, number[]>()
  for (const { received_at, status, echo } of stored) {
    const from = Math.floor(Number(received_at) / HOUR) * HOUR
    const name = new Date(from).toISOString().replace('.000', '')
    const counts = hours.get(name) ?? [0, 0, 0, 0, 0]
    counts[Number(status)] = (counts[Number(status)] ?? 0) + 1
    counts[4] = (counts[4] ?? 0) + Number(Boolean(echo))
    hours.set(name, counts)
  }
  return hours
}

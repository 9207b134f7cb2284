import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { upload } from '../support/app/upload.ts'
import { holding } from '../support/faults/remains.ts'
import { WEBHOOK_ALLOW } from '../support/network/allowed-ports.ts'
import { runSql } from '../support/postgres/postgres-server.ts'
import { deliver, makeSupplier, SUPPLIER_EMAIL } from '../support/processes/ledger.ts'
import { serve, startProcess, teslim } from '../support/processes/process.ts'
import { storesOfRun } from '../support/store/stores.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { pace, until } from '../support/until.ts'
import { startReceiver } from '../support/webhooks/webhook-receiver.ts'

const MARKER = 'MARKER of a person'
const COUNT = 2_000
/** Between two pages of a follower, which would take a core for itself. */
const PAUSE_MILLISECONDS = 100

interface Item {
  readonly Payload?: object
  readonly Erased?: boolean
}

/** Each delivery comes with its payload, or as erased; never with what stands in place of the payload. */
const isWrong = ({ Payload, Erased = false }: Item): boolean =>
  Erased === (Payload !== undefined) || JSON.stringify(Payload ?? {}).includes('SHA256')

async function logIn(url: string, Password: string): Promise<string> {
  const body = JSON.stringify({ Email: SUPPLIER_EMAIL, Password })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}/Login/Customer/Api/Verify`, { method: 'POST', headers, body })
  return ((await answer.json()) as { data: { Token: string } }).data.Token
}

/** Asked often, because an erasure is quick. */
async function hasErased(databaseUrl: string): Promise<boolean> {
  const one = 'SELECT FROM delivery WHERE erased IS NOT NULL LIMIT 1'
  if (databaseUrl.startsWith('postgres')) return (await runSql(databaseUrl, one)).length > 0
  const database = new DatabaseSync(databaseUrl.replace('sqlite:', ''), { readOnly: true })
  try {
    return database.prepare(one.replace('SELECT', 'SELECT 1')).get() !== undefined
  } finally {
    database.close()
  }
}

/** Reads the feed again and again. Resolves to what was wrong. */
function follow(url: string, token: string) {
  const wrong: Item[] = []
  let stopped = false
  const work = (async () => {
    for (let after = ''; !stopped; await pace(PAUSE_MILLISECONDS)) {
      const headers = { authorization: `Bearer ${token}` }
      const answer = await fetch(`${url}/Purchase/feed?payload=full&limit=500${after}`, { headers })
      const { data } = (await answer.json()) as { data: { Deliveries: Item[]; NextCursor: string } | null }
      // Begins again at the end, and after a purge.
      after = data === null || data.Deliveries.length < 500 ? '' : `&after=${data.NextCursor}`
      wrong.push(...(data?.Deliveries ?? []).filter(isWrong))
    }
  })()
  return {
    async stop(): Promise<Item[]> {
      stopped = true
      await work
      return wrong
    },
  }
}

describe.each(storesOfRun())('erasing beside servers on %s', (kind, emptyStore) => {
  it('killed in the middle and run again, twice at once, beside a purge, deliveries, a follower and a webhook, it leaves nothing', async () => {
    const cwd = tempFolder()
    const { DATABASE_URL } = await emptyStore()
    const env = {
      NODE_ENV: 'production',
      DATABASE_URL,
      ...WEBHOOK_ALLOW,
    }
    const { key, password } = await makeSupplier({ cwd, env }, ['--allow', '*', '--api'])
    const receiver = await startReceiver()
    const run = async (...args: string[]) => {
      const { status, stdout, stderr } = await teslim([...args, '--json'], { cwd, env })
      expect([args[0], args[1], status, stderr]).toEqual([args[0], args[1], 0, ''])
      return JSON.parse(stdout)
    }
    await run('webhook', 'add', '--url', receiver.url)
    const first = await serve({ cwd, env })
    const servers = [first]
    // Of two replicas one has deliveries in its memory that were erased through the other.
    if (kind === 'postgres') servers.push(await serve({ cwd, env }))
    const { url } = first
    const fill = async (OrderID: string, count: number): Promise<void> => {
      const body = (n: number) => ({ OrderID, Status: n % 4, n, text: `${MARKER} `.repeat(1 + (n % 90)) })
      const lines = Array.from({ length: count }, (_, n) => `${JSON.stringify(body(n))}\n`)
      const { answers } = await upload(`${servers.at(-1)?.url}`, key, lines.join(''))
      expect([answers.length, answers.filter(({ success }) => !success)]).toEqual([count, []])
    }
    await fill('PO-MARKED', COUNT)
    const load = deliver({ url, key, clients: 2 })
    const follower = follow(url, await logIn(url, password))
    const erase = (order: string) => ['order', 'erase', order, '--customer', SUPPLIER_EMAIL]
    const left = async (): Promise<number> => (await run(...erase('PO-MARKED'), '--dry-run')).deliveries
    const killed = startProcess(erase('PO-MARKED'), { cwd, env })
    await until('some are erased', () => hasErased(DATABASE_URL))
    killed.kill('SIGKILL')
    await once(killed, 'close')
    const rest = await left()
    expect(rest).toBeGreaterThan(0)
    const both = await Promise.all([run(...erase('PO-MARKED')), run(...erase('PO-MARKED'))])
    expect(both[0].deliveries + both[1].deliveries).toBe(rest)
    await fill('PO-PURGED', 500)
    await Promise.all([run(...erase('PO-PURGED')), run('purge', '--older', '0')])
    // Empties the log that readers of the others may have kept.
    expect(await run(...erase('PO-PURGED'))).toMatchObject({ deliveries: 0, refusedBodies: 0 })
    expect(await holding(DATABASE_URL, MARKER)).toEqual([])
    await load.more(20)
    await load.stop()
    expect(load.others).toEqual(new Map())
    expect(await follower.stop()).toEqual([])
    const last = await run('order', 'show', 'PO-MARKED')
    expect(last.Deliveries.every(({ Erased }: { Erased?: boolean }) => Erased)).toBe(true)
    for (const { child, ended } of servers) {
      child.kill('SIGTERM')
      expect(await ended).toBe(0)
    }
    expect(receiver.received.filter(({ body }) => isWrong(JSON.parse(body).data))).toEqual([])
  }, 120_000)
})

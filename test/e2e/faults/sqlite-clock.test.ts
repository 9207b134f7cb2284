import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import { canFakeClocks, fakeClock } from '../../support/app/fake-clock.ts'
import { deliver, missingFrom } from '../../support/processes/ledger.ts'
import { runPrepared } from '../../support/processes/prepared-commands.ts'
import { serveSandbox, teslim } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'

/** A server whose wall clock can be put forward and back by so many seconds. */
async function withClock() {
  const cwd = tempFolder()
  const { env, setClock, clear } = fakeClock()
  const sandbox = await serveSandbox({ cwd, env })
  onTestFinished(() => clear(sandbox.server.child.pid))
  /** Runs a command by the same clock, and reads what it prints. */
  const command = async (...args: string[]) => JSON.parse((await teslim([...args, '--json'], { cwd, env })).stdout)
  return { ...sandbox, cwd, setClock, command, path: join(cwd, 'data/teslim.db') }
}

const HOUR = 3600
const MINUTE = 60

it.runIf(canFakeClocks)(
  'a clock that jumps forward and back loses, repeats and locks out nothing: deliveries, receipts, positions, idempotency keys, logins and the feed',
  async () => {
    const { server, email, password, apiKey, setClock, path } = await withClock()
    const { url } = server
    const logIn = async (Password = password) => {
      const answer = await fetch(`${url}/Login/Customer/Api/Verify`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ Email: email, Password }),
      })
      const { data } = (await answer.json()) as { data: { Token: string } | null }
      return { status: answer.status, token: data?.Token ?? '' }
    }
    const send = async (key: string) => {
      const headers = { ApiKey: apiKey, 'Idempotency-Key': key }
      const body = `{"OrderID":"${key}","Status":1}`
      const answer = await fetch(`${url}/Purchase/update`, { method: 'POST', headers, body })
      return ((await answer.json()) as { data: { ReceiptID: string; Duplicate: boolean; ReceivedAt: string } }).data
    }
    const load = deliver({ url, key: apiKey, clients: 4, pause: 25 })
    const receipts = new Map<string, string>()
    const hours: number[] = []
    for (const hour of [0, 1, -1, 24, -24, 0]) {
      setClock(hour * HOUR)
      const key = `try-${receipts.size}`
      const { ReceiptID, Duplicate, ReceivedAt } = await send(key)
      expect(Duplicate).toBe(false)
      hours.push(Math.round((Date.parse(ReceivedAt) - Date.now()) / 1000 / HOUR) + 0)
      receipts.set(key, ReceiptID)
      await load.more(50)
      for (const [key, receipt] of receipts) {
        expect(await send(key)).toMatchObject({ ReceiptID: receipt, Duplicate: true })
      }
      // Failures that were counted at the time before delay nobody now.
      const { status, token } = await logIn()
      expect({ hour, status }).toEqual({ hour, status: 200 })
      const who = await fetch(`${url}/Customer/Get`, { headers: { authorization: `Bearer ${token}` } })
      expect({ hour, status: who.status }).toEqual({ hour, status: 200 })
      const failed: number[] = []
      while (failed.length < 10 && failed.at(-1) !== 429) failed.push((await logIn('wrong-password')).status)
      expect(failed).toContain(429)
    }
    expect(hours).toEqual([0, 1, -1, 24, -24, 0])
    expect([...load.others]).toEqual([])
    await load.stop()

    setClock(2 * HOUR)
    // The feed: each once, in the order of positions.
    const { token } = await logIn()
    const fed: string[] = []
    for (let after = ''; ; ) {
      const page = await fetch(`${url}/Purchase/feed?limit=200&payload=none${after}`, {
        headers: { authorization: `Bearer ${token}` },
      })
      const { data } = (await page.json()) as { data: { Deliveries: { ReceiptID: string }[]; NextCursor: string } }
      if (data.Deliveries.length === 0) break
      fed.push(...data.Deliveries.map(({ ReceiptID }) => ReceiptID))
      after = `&after=${data.NextCursor}`
    }
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
    expect(missingFrom(path, load.acknowledged)).toEqual([])
    const database = new DatabaseSync(path)
    const rows = database
      .prepare('SELECT position, lower(hex(receipt)) AS receipt FROM delivery ORDER BY position')
      .all()
    database.close()
    expect(fed.map((id) => id.replaceAll('-', ''))).toEqual(rows.map(({ receipt }) => receipt))
    expect(new Set(fed).size).toBe(fed.length)
    expect(rows.map(({ position }) => position)).toEqual(rows.map((_, index) => index + 1))
    // In the order in which each client got its answers.
    const positions = new Map(rows.map(({ receipt, position }) => [receipt, position as number]))
    const last = new Map<string, number>()
    for (const { receipt, order } of load.acknowledged) {
      const position = positions.get(receipt.replaceAll('-', '')) ?? 0
      expect(position).toBeGreaterThan(last.get(order) ?? 0)
      last.set(order, position)
    }
  },
)

it.runIf(canFakeClocks)(
  'after a clock was put back, what is searched by time is found by it, a key was last used when it was, and doctor counts right',
  async () => {
    const { server, apiKey, cwd, setClock, command } = await withClock()
    const send = async (OrderID: string): Promise<string> => {
      const body = JSON.stringify({ OrderID, Status: 1 })
      const answer = await fetch(`${server.url}/Purchase/update`, { method: 'POST', headers: { ApiKey: apiKey }, body })
      return ((await answer.json()) as { data: { ReceiptID: string } }).data.ReceiptID
    }
    const lastUsed = async (): Promise<number> => {
      const { stdout } = await runPrepared(['key', 'list', '--json'], { cwd })
      const [{ lastUsedAt }] = JSON.parse(stdout) as [{ lastUsedAt: string | null }]
      return (Date.parse(lastUsedAt ?? '') - Date.now()) / 1000 / MINUTE
    }
    setClock(HOUR)
    const ahead = await send('ahead')
    await until('the use is recorded', async () => Math.round(await lastUsed()) === 60, { milliseconds: 20_000 })
    setClock(0)
    for (const order of ['back', 'again']) await send(order)
    await until('a later use takes its place', async () => Math.round(await lastUsed()) === 0, { milliseconds: 20_000 })
    const { checks } = (await command('doctor')) as { checks: { name: string; message: string }[] }
    expect(checks.filter(({ name }) => name === 'clock')).toMatchObject([
      { message: '1 delivery was received later than it is now: the clock was set back, check it (NTP)' },
    ])
    setClock(50 * MINUTE)
    const later = await send('later')
    setClock(65 * MINUTE)
    const receipts = (all: { ReceiptID: string }[]) => all.map(({ ReceiptID }) => ReceiptID)

    expect(receipts(await command('delivery', 'list', '--from', '20m'))).toEqual([ahead, later])
    const from = new Date(Date.now() + 45 * MINUTE * 1000).toISOString()
    const answer = await fetch(`${server.url}/Supplier/deliveries?from=${from}`, { headers: { ApiKey: apiKey } })
    const { data } = (await answer.json()) as { data: { Deliveries: { ReceiptID: string }[] } }
    expect(receipts(data.Deliveries)).toEqual([later, ahead])
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
  },
  60_000,
)

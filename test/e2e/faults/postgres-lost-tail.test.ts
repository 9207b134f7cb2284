import { expect, it, onTestFinished } from 'vitest'
import { ask } from '../../support/app/ask.ts'
import { eventsOf } from '../../support/app/event-stream.ts'
import { WEBHOOK_ALLOW } from '../../support/network/allowed-ports.ts'
import { runSql, startPostgres } from '../../support/postgres/postgres-server.ts'
import {
  type Acknowledged,
  deliver,
  makeSupplier,
  pauseAfterRefusal,
  SUPPLIER_EMAIL,
} from '../../support/processes/ledger.ts'
import { runPrepared } from '../../support/processes/prepared-commands.ts'
import { serve, teslim } from '../../support/processes/process.ts'
import { runs } from '../../support/random-runs.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'
import { startReceiver } from '../../support/webhooks/webhook-receiver.ts'

interface Answer {
  readonly status: number
  readonly body: string
}

/** What a follower has got, as it would store it: the receipts, the cursor, and how often it was told of a loss. */
interface Followed {
  readonly receipts: Set<string>
  cursor: string
  readonly told: string[]
}

const CURSOR = /go on with the cursor (\S+?)"/

/** Goes on as the message says, as an operator would make it. Anything but a loss and an outage is a fault. */
function heed(followed: Followed, { status, body }: Answer): void {
  if (status === 503 || status === 0) return
  expect(body).toContain('"errorCode":"DELIVERIES_LOST"')
  followed.told.push(body)
  followed.cursor = CURSOR.exec(body)?.[1] as string
}

/** A primary with a standby, a server on both, a supplier, three kinds of followers. */
async function rig(synchronous: boolean) {
  const primary = await startPostgres()
  onTestFinished(() => primary.remove())
  const { host, port } = new URL(primary.url)
  const standby = await startPostgres({
    standbyOf: primary,
    settings: [`primary_conninfo = 'host=127.0.0.1 port=${port} user=teslim'`],
  })
  onTestFinished(() => standby.remove())
  if (synchronous) await runSql(primary.url, `ALTER SYSTEM SET synchronous_standby_names = '*'`)
  await runSql(primary.url, 'SELECT pg_reload_conf()')

  const databaseUrl = standby.url.replace('@', `@${host},`)
  const env = { NODE_ENV: 'production', DATABASE_URL: databaseUrl, ...WEBHOOK_ALLOW }
  const where = { cwd: tempFolder(), env }
  const { key, password } = await makeSupplier(where, ['--allow', '*', '--api', '--operator'])
  const receiver = await startReceiver()
  await runPrepared(['webhook', 'add', '--url', receiver.url, '--json'], where)
  const server = await serve(where)
  const login = await ask(`${server.url}/Login/Customer/Api/Verify`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ Email: SUPPLIER_EMAIL, Password: password }),
  })
  const headers = { authorization: `Bearer ${JSON.parse(login.body).data.Token}` }
  const load = deliver({ url: server.url, key, clients: 4, bytes: 10 })
  onTestFinished(() => load.stop())

  const gone = new AbortController()
  const following = (once: (followed: Followed) => Promise<Answer | undefined>): Followed => {
    const followed: Followed = { receipts: new Set(), cursor: '', told: [] }
    const ended = (async () => {
      while (!gone.signal.aborted) {
        const refused = await once(followed).catch((): Answer => ({ status: 0, body: '' }))
        if (refused === undefined) continue
        heed(followed, refused)
        await pauseAfterRefusal()
      }
    })()
    onTestFinished(() => {
      gone.abort()
      return ended
    })
    return followed
  }
  const get = (cursor: string, wait = 0): Promise<Answer> =>
    ask(`${server.url}/Purchase/feed?${new URLSearchParams({ after: cursor, wait: String(wait), limit: '1000' })}`, {
      method: 'GET',
      headers,
      signal: gone.signal,
    })
  const poll = following(async (followed) => {
    const answer = await ask(
      `${server.url}/Purchase/feed?${new URLSearchParams({ wait: '2', limit: '20', ...(followed.cursor && { after: followed.cursor }) })}`,
      { method: 'GET', headers, signal: gone.signal },
    )
    if (answer.status !== 200) return answer
    const { Deliveries, NextCursor } = JSON.parse(answer.body).data
    for (const { ReceiptID } of Deliveries) followed.receipts.add(ReceiptID)
    followed.cursor = NextCursor
    return
  })
  const stream = following(async (followed) => {
    const last = followed.cursor === '' ? {} : { 'last-event-id': followed.cursor }
    try {
      const events = eventsOf(`${server.url}/Purchase/feed`, { headers: { ...headers, ...last }, signal: gone.signal })
      for await (const { id, data } of events) {
        followed.receipts.add(JSON.parse(data).ReceiptID)
        followed.cursor = id as string
      }
    } catch (error) {
      const { status = 0, message } = error as Error & { status?: number }
      return { status, body: message }
    }
    return { status: 0, body: '' }
  })
  const everybody = {
    poll: () => poll.receipts,
    stream: () => stream.receipts,
    webhook: () => new Set(receiver.received.map(({ id }) => id)),
  }
  /** Waits until every follower has all of these. */
  const haveSeen = async (receipts: readonly string[]): Promise<void> => {
    for (const [name, seen] of Object.entries(everybody))
      await until(`the ${name} has seen everything`, () => receipts.every((receipt) => seen().has(receipt)))
  }
  return { primary, standby, server, key, load, where, poll, stream, everybody, haveSeen, get }
}

const receiptsOf = (acknowledged: readonly Acknowledged[]): string[] => acknowledged.map(({ receipt }) => receipt)

const STORED = 'SELECT receipt::text FROM delivery ORDER BY position'
const storedIn = async (url: string): Promise<string[]> =>
  (await runSql(url, STORED)).map(({ receipt }) => receipt as string)

it.each(Array.from({ length: runs(1) }, (_, index) => index + 1))(
  'whoever has read what an asynchronous standby lacks is told, and then gets all that is stored (round %i)',
  async () => {
    const { primary, standby, server, key, load, where, poll, stream, haveSeen, get } = await rig(false)
    await load.more(60)
    await haveSeen(receiptsOf(load.acknowledged))
    const early = poll.cursor

    // From here on the standby gets nothing more, and everybody reads what it lacks.
    await until('the standby has something', async () => (await storedIn(standby.url)).length >= 60)
    const senders = (await runSql(primary.url, 'SELECT pid FROM pg_stat_replication')).map(({ pid }) => pid as number)
    for (const pid of senders) process.kill(pid, 'SIGSTOP')
    await load.more(60)
    await load.stop()
    const before = receiptsOf(load.acknowledged)
    await haveSeen(before)
    const late = poll.cursor
    await primary.kill()
    await runSql(standby.url, 'SELECT pg_promote()')
    const left = await storedIn(standby.url)
    expect(left.length).toBeLessThan(before.length)

    // Before the first delivery, too.
    let refused: Answer = { status: 503, body: '' }
    await until('the feed answers', async () => {
      refused = await get(late)
      return refused.status !== 503
    })
    expect(refused).toMatchObject({ status: 410, body: expect.stringContaining('DELIVERIES_LOST') })
    expect(refused.body).toContain(`left is ${left.at(-1)}.`)
    expect((await get(early)).status).toBe(200)

    const more = deliver({ url: server.url, key, clients: 4, bytes: 10 })
    await more.more(60)
    await more.stop()
    const stored = await storedIn(standby.url)
    expect(stored.filter((receipt) => !left.includes(receipt))).toEqual(
      expect.arrayContaining(receiptsOf(more.acknowledged)),
    )
    await haveSeen(stored)
    for (const { told } of [poll, stream]) expect(told.length).toBeGreaterThan(0)
    const attempts = () => runSql(standby.url, 'SELECT error FROM webhook_attempt WHERE position IS NULL')
    await expect.poll(attempts).toEqual([{ error: expect.stringContaining('lost deliveries') }])
    await server.printed(/deliveries go on after a failover/)
    expect((await get(late)).body).toContain('noticed at')
    // A command refuses such a cursor, and goes on where the message says.
    const exported = await teslim(['delivery', 'export', '--after', late], where)
    expect(exported).toMatchObject({ status: 1, stderr: expect.stringContaining(`${left.at(-1)}`) })
    const [, cursor = ''] = /go on with the cursor (\S+)/.exec(exported.stderr) ?? []
    const { stdout } = await teslim(['delivery', 'export', '--after', cursor], where)
    expect(stdout.trim().split('\n')).toHaveLength(stored.length - left.length)
    expect((await teslim(['doctor'], where)).stdout).toContain(`left deliveries up to ${left.at(-1)}`)
  },
  120_000,
)

it('whoever has read what is lost is told, and gets all that is stored, where deliveries come all the time', async () => {
  const { primary, standby, load, poll, stream, haveSeen } = await rig(false)
  await load.more(60)
  await until('the standby has something', async () => (await storedIn(standby.url)).length >= 60)
  const senders = (await runSql(primary.url, 'SELECT pid FROM pg_stat_replication')).map(({ pid }) => pid as number)
  for (const pid of senders) process.kill(pid, 'SIGSTOP')
  await load.more(200)
  await haveSeen(receiptsOf(load.acknowledged))
  await primary.kill()
  await runSql(standby.url, 'SELECT pg_promote()')
  await load.more(200)
  await load.stop()
  const stored = await storedIn(standby.url)
  expect(receiptsOf(load.acknowledged).filter((receipt) => !stored.includes(receipt)).length).toBeGreaterThan(0)
  await haveSeen(stored)
  for (const { told } of [poll, stream]) expect(told.length).toBeGreaterThan(0)
  const attempts = () => runSql(standby.url, 'SELECT error FROM webhook_attempt WHERE position IS NULL')
  await expect.poll(attempts).toEqual([{ error: expect.stringContaining('lost deliveries') }])
}, 120_000)

it('a failover to a synchronous standby refuses nobody', async () => {
  const { primary, standby, load, poll, stream, everybody, haveSeen, get } = await rig(true)
  await load.more(60)
  const early = poll.cursor
  await primary.kill()
  await runSql(standby.url, 'SELECT pg_promote()')
  await load.more(60)
  await load.stop()
  await haveSeen(receiptsOf(load.acknowledged))
  await haveSeen(await storedIn(standby.url))
  const stored = await storedIn(standby.url)
  for (const seen of Object.values(everybody)) expect(seen()).toEqual(new Set(stored))
  expect([poll.told, stream.told]).toEqual([[], []])
  const { status, body } = await get(early)
  expect(status).toBe(200)
  expect(JSON.parse(body).data.Deliveries.map(({ ReceiptID }: { ReceiptID: string }) => ReceiptID)).toEqual(
    stored.slice(-JSON.parse(body).data.Deliveries.length),
  )
  expect(await runSql(standby.url, 'SELECT error FROM webhook_attempt WHERE position IS NULL')).toEqual([])
}, 120_000)

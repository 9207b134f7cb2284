import { inject, onTestFinished } from 'vitest'
import { ask } from '../../../support/ask.ts'
import { receiptsMissingFrom } from '../../../support/ledger.ts'
import { runPrepared } from '../../../support/prepared-commands.ts'
import { teslim } from '../../../support/process.ts'
import { pace, until } from '../../../support/until.ts'
import { logInAndOut, readBack, scrapeAll } from './bystanders.ts'
import { releaseAll, type Stage } from './faults.ts'
import { followByPolls, followByStream, logIn, type Reader, watchLive } from './followers.ts'
import { createJudge, createLedger, type Judge, judgeReceipts, judgeStored, sentOf } from './judge.ts'
import { createOperator } from './operator.ts'
import { startOffice } from './receiver.ts'
import { type Planned, type Round, rounds } from './schedule.ts'
import { openSite, type Site, type StoreKind } from './site.ts'
import { type Account, startSupplier } from './suppliers.ts'

/** By hand as long as one likes: FAULTS_SECONDS=600. */
const SECONDS = Number(process.env.FAULTS_SECONDS || 25)
/** How long a run may take for what comes before and after its faults. */
const MORE_SECONDS = 150
export const TIMEOUT_MILLISECONDS = (SECONDS * 4 + MORE_SECONDS) * 1000

const SUPPLIERS = 3
const RECOVERY_MILLISECONDS = 15_000
/** What waits for an order that was refused a few times in a row. */
const WEBHOOKS_MILLISECONDS = 60_000
const MOST_MEMORY = 400 * 2 ** 20

/** Suppliers, followers, a webhook and an operator go on while one fault comes after the other; then all books are compared. */
export async function runFaults(store: StoreKind): Promise<void> {
  const judge = createJudge()
  const site = await openSite(store, judge)
  try {
    await judgeRun(site, judge)
  } catch (error) {
    judge.problem((error as Error).message)
  }
  if (judge.problems.length === 0) return
  throw new Error(
    [
      `TEST_SEED=${inject('seed')}, FAULTS_SECONDS=${SECONDS}, ${store}:`,
      ...judge.problems,
      'the log:',
      site.log(),
    ].join('\n'),
  )
}

async function judgeRun(site: Site, judge: Judge): Promise<void> {
  const stopping = new AbortController()
  const aborting = new AbortController()
  const [stop, abort] = [stopping.signal, aborting.signal]
  const started = performance.now()
  const actors: Promise<unknown>[] = []
  onTestFinished(async () => {
    stopping.abort()
    aborting.abort()
    await Promise.allSettled(actors)
  })

  const office = await addAccount(site, 'office@example.com', '--api', '--operator')
  const accounts: Account[] = []
  for (let number = 0; number < SUPPLIERS; number++)
    accounts.push(await addAccount(site, `supplier-${number}@example.com`, '--api', '--allow', '*'))
  const receiver = await startOffice(judge, abort)
  const { Endpoint } = await command(site, 'webhook', 'add', '--url', receiver.url)
  await site.start()

  const { replicas } = site
  const reader: Reader = { judge, replicas, operator: office, abort }
  const suppliers = accounts.map((account) => startSupplier({ account, replicas, judge, stop, abort }))
  const followers = [followByPolls(reader), followByStream(reader)]
  const live = watchLive(reader)
  const operator = createOperator(site, judge)
  const stage: Stage = { site, judge, suppliers, operator, office, abort }
  const sending = suppliers.map(({ ended }) => ended)
  const bystanders = [scrapeAll(reader), logInAndOut(reader, suppliers), readBack(reader), operator.work(stop)]
  actors.push(...sending, ...followers.map(({ ended }) => ended), live.ended, receiver.ended, ...bystanders)
  // What fails in one of them ends the run.
  const failed = Promise.all(actors).then(() => new Promise<never>(() => undefined))
  failed.catch((error: Error) => judge.problem(error.stack ?? error.message))

  /** Every server stores deliveries, every supplier may deliver, and the followers get them. */
  const recovered = async (what: string): Promise<number> => {
    const since = performance.now()
    const recovery = `the recovery from ${what}`
    judge.begin(recovery)
    const missing = (): string[] => [
      ...suppliers.filter((supplier) => supplier.storedAt() < since).map(({ account }) => `${account.email} delivers`),
      ...replicas.filter((replica) => replica.storedAt < since).map(({ url }) => `${url} stores`),
      ...followers.filter(({ takenAt }) => takenAt() < since).map(({ name }) => `${name} gets something`),
    ]
    await until('', () => missing().length === 0, { milliseconds: RECOVERY_MILLISECONDS }).catch(() => {
      throw new Error(`not within ${RECOVERY_MILLISECONDS} ms after ${what}: ${missing().join(', ')}`)
    })
    judge.end(recovery)
    return performance.now() - since
  }

  await recovered('the start')
  const { count, longest } = await makeFaults(stage, recovered)

  stopping.abort()
  receiver.behave()
  const all = Promise.all(sending).then(() => true)
  let areSent = false
  void all.then(() => {
    areSent = true
  })
  await until('every supplier has its receipts', () => areSent)
  const { size } = judge.acknowledged
  await until(`both followers have all ${size}`, () => followers.every(({ receipts }) => receipts.length >= size))
  await until(`the live view counts ${size}`, () => live.counted() === size).catch(() => {
    judge.problem(`the live view counts ${live.counted()} of ${size}`)
  })
  const unconfirmed = (): string[] =>
    [...judge.orders].filter(([order, sent]) => receiver.confirmed.get(order) !== sent).map(([order]) => order)
  await until('', () => unconfirmed().length === 0, { milliseconds: WEBHOOKS_MILLISECONDS }).catch(() => {
    judge.problem(`webhooks are missing for ${unconfirmed().length} orders: ${unconfirmed().slice(0, 5)}`)
  })
  const token = await logIn(replicas[0]?.url ?? '', office, abort)
  const fromStart = await readFeed(replicas[0]?.url ?? '', token)
  await judgeOrders(replicas[0]?.url ?? '', token, judge)
  await command(site, 'webhook', 'show', String((Endpoint as { EndpointID: string }).EndpointID))
  aborting.abort()
  await Promise.all(actors)
  await site.stop()

  const stored = createLedger('the store', judge)
  const exported = await teslim(['delivery', 'export'], site.where)
  for (const line of exported.stdout.split('\n').slice(0, -1)) {
    const delivery = JSON.parse(line)
    stored.take(delivery.ReceiptID, sentOf(delivery))
  }
  judgeStored(stored, judge)
  for (const { name, receipts } of followers) judgeReceipts(name, receipts, stored.receipts, judge)
  judgeReceipts('the feed from its start', fromStart, stored.receipts, judge)
  if (site.store === 'sqlite') {
    const missing = receiptsMissingFrom(site.path, [...judge.acknowledged.keys()])
    if (missing.length > 0)
      judge.problem(`LOST: ${missing.length} receipts are not in the file: ${missing.slice(0, 3)}`)
  }
  const memory = site.memory()
  if (memory > MOST_MEMORY) judge.problem(`a server took ${Math.round(memory / 2 ** 20)} MiB of memory`)
  console.info(
    `${site.store}, TEST_SEED=${inject('seed')}: ${count} faults in ${Math.round((performance.now() - started) / 1000)} s, ${size} deliveries, longest recovery ${Math.round(longest.milliseconds)} ms after ${longest.what}, at most ${Math.round(memory / 2 ** 20)} MiB`,
  )
}

/** One round after the other until the time is over, or something is wrong. */
async function makeFaults(stage: Stage, recovered: (what: string) => Promise<number>) {
  const { judge, site } = stage
  const until = performance.now() + SECONDS * 1000
  let longest = { milliseconds: 0, what: 'the start' }
  let count = 0
  for (const round of rounds(site)) {
    if (performance.now() >= until || judge.problems.length > 0) break
    const what = nameOf(round)
    site.giveRoom(round.room)
    if (process.env.FAULTS_SECONDS) console.info(`${Math.round((until - performance.now()) / 1000)} s left: ${what}`)
    const outcomes = await Promise.allSettled(round.planned.map((planned) => provoke(planned, stage)))
    releaseAll(site.replicas)
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    const milliseconds = await recovered(what)
    if (milliseconds > longest.milliseconds) longest = { milliseconds, what }
    count += round.planned.length
    await pace(round.quiet)
  }
  return { count, longest }
}

const nameOf = ({ planned }: Round): string => planned.map(({ fault }) => fault.name).join(' and ')

async function provoke({ fault, delay, lasts, draw }: Planned, stage: Stage): Promise<void> {
  const { judge } = stage
  await pace(delay)
  judge.begin(fault.name)
  try {
    const end = await fault.begin(stage, draw)
    await pace(lasts)
    await end()
  } finally {
    judge.end(fault.name)
  }
}

async function command({ where }: Site, ...args: string[]): Promise<Record<string, unknown>> {
  const { status, stdout, stderr } = await runPrepared([...args, '--json'], where)
  if (status !== 0) throw new Error(`teslim ${args.join(' ')}: ${stderr}`)
  return JSON.parse(stdout)
}

async function addAccount(site: Site, email: string, ...flags: string[]): Promise<Account> {
  const { id, password } = await command(site, 'customer', 'add', '--email', email, '--generate', ...flags)
  const { id: keyId, key } = await command(site, 'key', 'issue', '--customer', email)
  return { id, email, password, keyId, key } as Account
}

/** The receipts of all deliveries, in the order of the feed. */
async function readFeed(url: string, token: string): Promise<string[]> {
  const receipts: string[] = []
  for (let after = ''; ; ) {
    const query = new URLSearchParams({ limit: '1000', payload: 'none', after })
    const { Deliveries, NextCursor } = await read(`${url}/Purchase/feed?${query}`, token)
    if (Deliveries.length === 0) return receipts
    receipts.push(...Deliveries.map(({ ReceiptID }: { ReceiptID: string }) => ReceiptID))
    after = NextCursor
  }
}

/** Each order has the Status of its last delivery. */
async function judgeOrders(url: string, token: string, judge: Judge): Promise<void> {
  const expected = new Map(judge.orders)
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { Orders, NextCursor } = await read(
      `${url}/Purchase/list?${new URLSearchParams({ limit: '100', cursor })}`,
      token,
    )
    for (const { OrderID, Status } of Orders) {
      const sent = Number(expected.get(OrderID))
      if (Status !== (sent - 1) % 4) judge.problem(`order ${OrderID} has Status ${Status} after ${sent} deliveries`)
      expected.delete(OrderID)
    }
    cursor = NextCursor
  }
  if (expected.size > 0) judge.problem(`${expected.size} orders are in no list: ${[...expected.keys()].slice(0, 5)}`)
}

// biome-ignore lint/suspicious/noExplicitAny: the contract is checked by `ask`
async function read(url: string, token: string): Promise<any> {
  const { status, body } = await ask(url, { method: 'GET', headers: { authorization: `Bearer ${token}` } })
  if (status !== 200) throw new Error(`${url} was answered ${status}: ${body}`)
  return JSON.parse(body).data
}

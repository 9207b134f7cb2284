import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ask } from '../../support/app/ask.ts'
import { atTheEnd } from '../../support/at-the-end.ts'
import { WEBHOOK_ALLOW } from '../../support/network/allowed-ports.ts'
import { type Cluster, startCluster } from '../../support/postgres/ha-cluster.ts'
import { runSql } from '../../support/postgres/postgres-server.ts'
import { runPrepared } from '../../support/processes/prepared-commands.ts'
import { type ServerProcess, serve } from '../../support/processes/process.ts'
import { pace, until } from '../../support/until.ts'
import { startReceiver } from '../../support/webhooks/webhook-receiver.ts'
import { complaintsOf, createJudge, tailOf } from '../faults/random/judge.ts'
import {
  followByPolls,
  followByStream,
  keepReading,
  PATIENCE_MILLISECONDS,
  type Replica,
  WAYS,
  type Way,
} from './readers.ts'
import { judgeFollower, judgeStored, judgeWebhook, type Stored } from './verdict.ts'

/** Servers on a cluster, and everybody who goes on while it fails. */
export interface Rig {
  readonly cluster: Cluster
  /** Suppliers deliver during a fault, and until everybody has been served for some seconds. */
  during(fault: () => Promise<void>): Promise<Outage>
  /** Lets everybody get what is left, and compares. */
  judge(): Promise<Verdict>
  log(): string
}

/** In seconds. */
export interface Outage {
  /** The longest time in which a server stored nothing. */
  readonly gap: Readonly<Record<Way, number>>
  /** When a delivery, and a login or a page of the feed, was refused last, after the fault began. */
  readonly deliveries: Readonly<Record<Way, number>>
  readonly readers: Readonly<Record<Way, number>>
}

export interface Verdict {
  readonly problems: readonly string[]
  readonly acknowledged: number
  /** How many of them are not stored. */
  readonly lost: number
}

const EMAIL = 'a@b.co'
const LANES = 12
const PAUSE_MILLISECONDS = 40
const QUIET_MILLISECONDS = 5000
const SERVED_AGAIN_MILLISECONDS = 60_000
const MAX_CHARACTERS = 300
const SETTINGS = {
  NODE_ENV: 'production',
  TESLIM_SECRET: 'the secret of failovers',
  ...WEBHOOK_ALLOW,
}

export async function openRig(): Promise<Rig> {
  const cluster = await startCluster()
  atTheEnd(() => cluster.remove())
  const cwd = join(cluster.folder, 'teslim')
  mkdirSync(cwd)
  const envOf = (databaseUrl: string) => ({ ...SETTINGS, DATABASE_URL: databaseUrl })
  // Two seconds are too few for a machine that starts three nodes and other tests.
  const patient = envOf(`${cluster.hostList}?connect_timeout=30`)
  const prepare = async (...args: string[]) => {
    const { status, stdout, stderr } = await runPrepared([...args, '--json'], { cwd, env: patient })
    if (status !== 0) throw new Error(`teslim ${args.join(' ')}: ${stderr}`)
    return JSON.parse(stdout)
  }
  const flags = ['--api', '--operator', '--allow', '*', '--generate']
  const { password } = await prepare('customer', 'add', '--email', EMAIL, ...flags)
  const { key } = await prepare('key', 'issue', '--customer', EMAIL)
  const receiver = await startReceiver()
  const { Endpoint } = await prepare('webhook', 'add', '--url', receiver.url)

  const start = async (way: Way): Promise<Replica> => {
    const env = envOf(way === 'HAProxy' ? cluster.haproxy : cluster.hostList)
    // A start that cannot reach the database ends; as a supervisor does, one tries again.
    const server = await serve({ cwd, env }).catch(() => serve({ cwd, env }))
    return { way, url: server.url, server, delivered: [], refused: [], read: [], unread: [] }
  }
  const replicas = await Promise.all([start('host list'), start('host list'), start('HAProxy')])

  const leaving = new AbortController()
  const actors: Promise<unknown>[] = []
  atTheEnd(async () => {
    leaving.abort()
    await Promise.all(actors)
  })
  const judge = createJudge()
  const visitor = { judge, replicas, operator: { email: EMAIL, password }, abort: leaving.signal }
  const followed = [
    followByPolls(visitor),
    followByStream('a follower by stream', visitor),
    followByStream('a follower by stream, at HAProxy first', { ...visitor, replicas: replicas.toReversed() }),
  ]
  actors.push(...followed.map(({ ended }) => ended), ...replicas.map((replica) => keepReading(replica, visitor)))

  let acknowledged = new Set<string>()
  /** Sends one delivery until there is a receipt, at one server after the other. */
  const deliver = async (lane: string, n: number, abort: AbortSignal): Promise<void> => {
    const body = JSON.stringify({ OrderID: `${lane}-${Math.floor(n / 5)}`, Status: n % 4, n })
    const headers = { ApiKey: key, 'Idempotency-Key': `${lane}-${n}` }
    for (let attempt = n; !abort.aborted; attempt++) {
      const { url, delivered, refused } = replicas[attempt % replicas.length] as Replica
      const signal = AbortSignal.any([abort, AbortSignal.timeout(PATIENCE_MILLISECONDS)])
      const send = ask(`${url}/Purchase/update`, { method: 'POST', headers, body, signal })
      const answer = await send.catch(() => ({ status: 503, body: '' }))
      const isStored = answer.status === 200
      ;(isStored ? delivered : refused).push(performance.now())
      if (isStored) return void acknowledged.add(JSON.parse(answer.body).data.ReceiptID)
      if (answer.status !== 503) judge.problem(`a delivery was answered ${answer.status}: ${answer.body}`)
      await pace(PAUSE_MILLISECONDS)
    }
  }
  let judgedLogs = replicas.map(() => 0)
  /** Five hundred attempts are kept, which may be those of the last seconds; the line of the log stays. */
  const webhookNotices = async () => {
    const shown = await prepare('webhook', 'show', Endpoint.EndpointID)
    return JSON.stringify(shown) + replicas.map(({ server }, index) => server.output().slice(judgedLogs[index]))
  }
  let scenario = 0
  const log = (): string =>
    [cluster.log(), ...replicas.map(({ way, server }) => `--- ${way}\n${shortTail(server)}`)].join('\n')

  return {
    cluster,
    async during(fault) {
      scenario++
      const stopping = new AbortController()
      const givingUp = new AbortController()
      const abort = AbortSignal.any([leaving.signal, givingUp.signal])
      const supply = async (lane: string): Promise<void> => {
        for (let n = 0; !stopping.signal.aborted && !abort.aborted; n++) {
          await deliver(lane, n, abort)
          await pace(PAUSE_MILLISECONDS)
        }
      }
      const lanes = Promise.all(Array.from({ length: LANES }, (_, lane) => supply(`${scenario}-${lane}`)))
      actors.push(lanes)
      const before = performance.now()
      // Tokens and cursors must be older than the fault.
      const works = ({ delivered, read }: Replica) => Number(delivered.at(-1)) > before && Number(read.at(-1)) > before
      const follows = () => followed.every(({ follower }) => follower.receipts.length > 0)
      await until('', () => replicas.every(works) && follows(), { milliseconds: SERVED_AGAIN_MILLISECONDS }).catch(
        () => {
          const unserved = replicas.filter((one) => !works(one)).map(({ way, url }) => `${way} ${url}`)
          throw new Error(`before the fault, not every server stores deliveries and is read: ${unserved}\n${log()}`)
        },
      )
      const began = performance.now()
      await fault()
      const ended = performance.now()
      const isServed = (): boolean => {
        const quiet = performance.now() - QUIET_MILLISECONDS
        const works = (good: number[], bad: number[]) => Number(good.at(-1)) > quiet && Number(bad.at(-1) ?? 0) < quiet
        const all = replicas.every((one) => works(one.delivered, one.refused) && works(one.read, one.unread))
        return ended < quiet && all
      }
      await until('', isServed, { milliseconds: SERVED_AGAIN_MILLISECONDS }).catch(() => {
        judge.problem(`not every server serves ${SERVED_AGAIN_MILLISECONDS} ms after the fault`)
        givingUp.abort()
      })
      stopping.abort()
      await lanes
      return outageSince(began, replicas)
    },
    async judge() {
      await cluster.whole()
      const { url } = await cluster.leader()
      const stored = (await runSql(
        url.replace(/[^/]+$/, 'teslim'),
        `SELECT receipt, order_id AS "order", convert_from(payload, 'UTF8') AS payload FROM delivery ORDER BY position`,
      )) as unknown as Stored[]
      const judged = [
        ...followed.map(({ follower }) => judgeFollower(follower, stored)),
        judgeWebhook(receiver, stored, webhookNotices),
      ]
      const problems = [...judgeStored(stored, acknowledged), ...(await Promise.all(judged)).flat()]
      for (const { way, server } of replicas) {
        problems.push(...complaintsOf(server.output(), { started: true }).map((line) => `${way} printed ${line}`))
        if (server.child.exitCode !== null) problems.push(`${way} ended with ${server.child.exitCode}`)
      }
      const there = new Set(stored.map(({ receipt }) => receipt))
      const verdict = {
        problems: [...judge.problems, ...problems],
        acknowledged: acknowledged.size,
        lost: acknowledged.difference(there).size,
      }
      // From here on all have what the table has, in its order: what was lost, and said to be lost, is not looked for again.
      acknowledged = there
      for (const { follower } of followed) {
        follower.receipts = [...there]
        follower.told = []
      }
      const first = new Map(receiver.received.toReversed().map((one) => [one.id, one]))
      receiver.received.splice(0, Infinity, ...stored.flatMap(({ receipt }) => first.get(receipt) ?? []))
      judgedLogs = replicas.map(({ server }) => server.output().length)
      return verdict
    },
    log,
  }
}

/** Without the stacks of errors. */
const shortTail = (server: ServerProcess): string =>
  tailOf(server.output())
    .split('\n')
    .map((line) => line.slice(0, MAX_CHARACTERS))
    .join('\n')

function outageSince(began: number, replicas: readonly Replica[]): Outage {
  const most = (secondsOf: (replica: Replica) => number) => {
    const of = (way: Way) => Math.max(...replicas.filter((replica) => replica.way === way).map(secondsOf))
    return Object.fromEntries(WAYS.map((way) => [way, Math.round(of(way) / 100) / 10])) as Record<Way, number>
  }
  const since = (times: readonly number[]) => [began, ...times.filter((at) => at > began)]
  const last = (times: readonly number[]) => Number(since(times).at(-1)) - began
  return {
    gap: most(({ delivered }) => Math.max(...since(delivered).map((at, index, all) => at - (all[index - 1] ?? at)))),
    deliveries: most(({ refused }) => last(refused)),
    readers: most(({ unread }) => last(unread)),
  }
}

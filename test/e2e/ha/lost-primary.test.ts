import { expect, it } from 'vitest'
import type { Node } from '../../support/postgres/ha-cluster.ts'
import { patroniMajor, whyNoCluster } from '../../support/postgres/ha-processes.ts'
import { runSql } from '../../support/postgres/postgres-server.ts'
import { until } from '../../support/until.ts'
import { type Outage, openRig, type Rig } from './rig.ts'

const reason = whyNoCluster()
if (reason !== undefined) console.info(`skipped: three nodes that fail over: ${reason}`)
const rig = (reason === undefined && (await openRig())) as Rig

/** Twice `ttl`, after which another node is promoted. */
const PROMOTED_MILLISECONDS = 60_000
const STORES_MILLISECONDS = 30_000
const TIMEOUT_MILLISECONDS = 240_000
/** Before Patroni 4 a node that comes back may take its place as the leader again: what the new primary has confirmed is lost then. */
const losesDeliveries = patroniMajor < 4
const promise = losesDeliveries
  ? 'nobody misses what is stored, and followers are told of what Patroni lost'
  : 'nothing is lost, doubled or reordered: deliveries go on within 25 s, readers within 30 s'

/** Until another node is the leader, and deliveries are stored there. */
async function untilReplaced(node: Node): Promise<void> {
  const isReplaced = async (): Promise<boolean> => (await rig.cluster.leader()).name !== node.name
  await until('another node is the leader', isReplaced, { milliseconds: PROMOTED_MILLISECONDS })
  const { url } = await rig.cluster.leader()
  const stored = async (): Promise<number> => {
    const [row] = await runSql(url.replace(/[^/]+$/, 'teslim'), 'SELECT count(*) FROM delivery')
    return Number(row?.count)
  }
  const before = await stored()
  await until('it stores deliveries', async () => (await stored()) > before, { milliseconds: STORES_MILLISECONDS })
}

async function expectPromise(name: string, outage: Outage): Promise<void> {
  const verdict = await rig.judge()
  console.info(`${name}, Patroni ${patroniMajor}: ${JSON.stringify({ ...outage, ...verdict })}`)
  expect(verdict.problems, rig.log()).toEqual([])
  if (losesDeliveries) return
  expect(verdict.lost, rig.log()).toBe(0)
  expect(Math.max(...Object.values(outage.deliveries)), rig.log()).toBeLessThan(25)
  expect(Math.max(...Object.values(outage.readers)), rig.log()).toBeLessThan(30)
}

it.runIf(rig)(
  `a node that is frozen, and goes on: ${promise}`,
  async () => {
    const node = await rig.cluster.leader()
    const outage = await rig.during(async () => {
      await node.freeze()
      await untilReplaced(node)
      node.goOn()
    })
    await expectPromise('frozen node', outage)
  },
  TIMEOUT_MILLISECONDS,
)

it.runIf(rig)(
  `PostgreSQL whose Patroni was killed: ${promise}`,
  async () => {
    const node = await rig.cluster.leader()
    const outage = await rig.during(async () => {
      await node.killPatroni()
      await untilReplaced(node)
      node.start()
    })
    await expectPromise('killed Patroni', outage)
  },
  TIMEOUT_MILLISECONDS,
)

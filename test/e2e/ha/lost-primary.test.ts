import { expect, it } from 'vitest'
import { patroniMajor, whyNoCluster } from '../../support/postgres/ha-processes.ts'
import { pace } from '../../support/until.ts'
import { type Outage, openRig, type Rig } from './rig.ts'

const reason = whyNoCluster()
if (reason !== undefined) console.info(`skipped: three nodes that fail over: ${reason}`)
const rig = (reason === undefined && (await openRig())) as Rig

/** Longer than `ttl`, after which another node is promoted. */
const AWAY_MILLISECONDS = 40_000
const TIMEOUT_MILLISECONDS = 240_000
/** Before Patroni 4 a node that comes back may take its place as the leader again: what the new primary has confirmed is lost then. */
const losesDeliveries = patroniMajor < 4
const promise = losesDeliveries
  ? 'nobody misses what is stored, and followers are told of what Patroni lost'
  : 'nothing is lost, doubled or reordered: deliveries go on within 25 s, readers within 30 s'

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
      await pace(AWAY_MILLISECONDS)
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
      await pace(AWAY_MILLISECONDS)
      node.start()
    })
    await expectPromise('killed Patroni', outage)
  },
  TIMEOUT_MILLISECONDS,
)

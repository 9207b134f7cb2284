import { afterAll, expect, it } from 'vitest'
import { patroniMajor, whyNoCluster } from '../../support/postgres/ha-processes.ts'
import { pace, until } from '../../support/until.ts'
import { type Outage, openRig, type Rig } from './rig.ts'

const reason = whyNoCluster()
if (reason !== undefined) console.info(`skipped: three nodes that fail over: ${reason}`)
const rig = (reason === undefined && (await openRig(afterAll))) as Rig

/** `ttl`, after which another node is promoted, and time for a busy machine. */
const PROMOTED_MILLISECONDS = 90_000
/** In which the node that was promoted serves, before the other one comes back. */
const AWAY_MILLISECONDS = 5_000
const TIMEOUT_MILLISECONDS = 240_000
/** Before Patroni 4 a node that comes back may take its place as the leader again: what the new primary has confirmed is lost then. */
const losesDeliveries = patroniMajor < 4
const promise = losesDeliveries
  ? 'nobody misses what is stored, and followers are told of what Patroni lost'
  : 'nothing is lost, doubled or reordered: deliveries go on within 25 s, readers within 30 s'

async function anotherLeads({ name }: { readonly name: string }): Promise<void> {
  const leads = async () => (await rig.cluster.leader().catch(() => undefined))?.name ?? name
  await until('another node is promoted', async () => (await leads()) !== name, { milliseconds: PROMOTED_MILLISECONDS })
  await pace(AWAY_MILLISECONDS)
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
      await anotherLeads(node)
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
      await anotherLeads(node)
      node.start()
    })
    await expectPromise('killed Patroni', outage)
  },
  TIMEOUT_MILLISECONDS,
)

it.runIf(rig)('a switchover loses, doubles and reorders nothing, and is over within seconds', async () => {
  const outage = await rig.during(() => rig.cluster.switchover())
  console.info('switchover:', JSON.stringify(outage))
  expect(await rig.judge(), rig.log()).toMatchObject({ problems: [], lost: 0 })
  expect(Math.max(...Object.values(outage.deliveries), ...Object.values(outage.readers))).toBeLessThan(15)
})

it.runIf(rig)(
  'a node without power loses, doubles and reorders nothing: deliveries go on within 25 s, readers within 30 s',
  async () => {
    const node = await rig.cluster.leader()
    const outage = await rig.during(() => node.kill())
    console.info('node without power:', JSON.stringify(outage))
    node.start()
    expect(await rig.judge(), rig.log()).toMatchObject({ problems: [], lost: 0 })
    expect(Math.max(...Object.values(outage.deliveries))).toBeLessThan(25)
    expect(Math.max(...Object.values(outage.readers))).toBeLessThan(30)
  },
)

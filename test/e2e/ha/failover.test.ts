import { expect, it } from 'vitest'
import { whyNoCluster } from '../../support/postgres/ha-processes.ts'
import { openRig, type Rig } from './rig.ts'

const reason = whyNoCluster()
if (reason !== undefined) console.info(`skipped: three nodes that fail over: ${reason}`)
const rig = (reason === undefined && (await openRig())) as Rig

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

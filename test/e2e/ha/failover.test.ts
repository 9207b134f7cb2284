import { afterAll, describe, expect, it } from 'vitest'
import { whyNoCluster } from '../../support/ha-cluster.ts'
import { openRig } from './rig.ts'

const reason = whyNoCluster()
if (reason !== undefined) console.info(`skipped: no cluster of PostgreSQL: ${reason}`)

describe.runIf(reason === undefined)('on three nodes with Patroni, etcd and HAProxy', async () => {
  const rig = reason === undefined ? await openRig(afterAll) : undefined
  if (!rig) return

  it('a switchover loses and doubles nothing, and suppliers and readers go on within seconds', async () => {
    const outage = await rig.during(() => rig.cluster.switchover())
    console.info('switchover', JSON.stringify(outage))
    expect(await rig.judge(), rig.log()).toMatchObject({ problems: [], lost: 0 })
  })

  it('a node that loses its power loses and doubles nothing; deliveries go on within 25 s, readers within 30 s', async () => {
    const node = await rig.cluster.leader()
    const outage = await rig.during(() => node.kill())
    console.info('killed node', JSON.stringify(outage))
    node.start()
    expect(await rig.judge(), rig.log()).toMatchObject({ problems: [], lost: 0 })
    expect(Math.max(...Object.values(outage.deliveries))).toBeLessThan(25)
    expect(Math.max(...Object.values(outage.readers))).toBeLessThan(30)
  })
})

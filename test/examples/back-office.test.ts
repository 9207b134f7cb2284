import { describe, expect, it } from 'vitest'
import { announceMissing, followers, receivers } from '../support/examples/programs.ts'
import { cli, site } from '../support/examples/site.ts'

const all = [...followers, ...receivers]
announceMissing(all)

describe.each(all.filter(({ isInstalled }) => isInstalled))('examples/$file', { timeout: 60_000 }, (example) => {
  it('keeps the orders of two suppliers apart that use the same order id', async () => {
    const { one, other, start, deliver, untilAllArrived, states } = await site(example)
    start()
    await deliver(one, 'PO-1', 2)
    await deliver(other, 'PO-1', 2)
    await deliver(other, 'PO-1', 0)
    await untilAllArrived()
    expect(states()).toEqual({ [`${one.id} PO-1`]: 2, [`${other.id} PO-1`]: 0 })
  })

  it('goes on by itself after a restore, and has each delivery once, also those that the restore undid', async () => {
    const { where, one, other, start, deliver, untilAllArrived, meanwhile, sent, held, states } = await site(example)
    const { said } = start()
    for (const supplier of [one, other]) await deliver(supplier, 'PO-1', 1)
    await deliver(one, 'PO-2', 1)
    await untilAllArrived()
    await cli(['backup', 'b.db'], where)
    for (const supplier of [one, other]) await deliver(supplier, 'PO-1', 2)
    await deliver(one, 'PO-undone', 1)
    await untilAllArrived()
    await meanwhile(() => cli(['restore', 'b.db'], where))
    await deliver(other, 'PO-1', 0)
    await deliver(other, 'PO-2', 3)
    await untilAllArrived()
    await deliver(one, 'PO-3', 1)
    await untilAllArrived()
    expect(held()).toEqual(sent)
    expect(states()).toEqual({
      [`${one.id} PO-1`]: 2,
      [`${one.id} PO-2`]: 1,
      [`${one.id} PO-undone`]: 1,
      [`${one.id} PO-3`]: 1,
      [`${other.id} PO-1`]: 0,
      [`${other.id} PO-2`]: 3,
    })
    if (example.goOn) expect(said()).toContain('CURSOR_INVALID')
  })
})

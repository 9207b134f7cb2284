import { describe, expect, inject, it } from 'vitest'
import { announceMissing, followers } from '../support/examples/programs.ts'
import { cli, site } from '../support/examples/site.ts'
import { newDatabase, runSql } from '../support/postgres/postgres-server.ts'
import { until } from '../support/until.ts'

const KILLS = 4
const BETWEEN_KILLS = 15

announceMissing(followers)

describe.each(followers.filter(({ isInstalled }) => isInstalled))('examples/$file', { timeout: 60_000 }, (example) => {
  it('loses and repeats nothing, killed at any moment', async () => {
    const { one, start, deliver, untilAllArrived, cursor, sent, held } = await site(example)
    const deliverSome = async (): Promise<void> => {
      for (let count = 0; count < BETWEEN_KILLS; count++) await deliver(one, `PO-${sent.size}`, 1)
    }
    const untilItWrites = async (): Promise<void> => {
      const before = cursor()
      await until('the follower writes', () => cursor() !== before)
    }
    for (let kills = 0; kills < KILLS; kills++) {
      await deliverSome()
      const { kill } = start()
      // It is killed as soon as it has started, as it begins to write, or as it writes what comes in meanwhile.
      if (kills > 0) await untilItWrites()
      const supplier = deliverSome()
      if (kills > KILLS / 2) await untilItWrites()
      await kill()
      await supplier
    }
    await deliverSome()
    start()
    await untilAllArrived()
    expect(held()).toEqual(sent)
  })

  it('says why it is not let in', async () => {
    const { start } = await site(example)
    const { said } = start([], { TESLIM_PASSWORD: 'no' })
    await until('it says so', () => said().includes('LOGIN_REFUSED'))
  })

  it('goes on where it was killed while it read everything again, and changes nothing that it has', async () => {
    const { one, start, deliver, untilAllArrived, untilCaughtUp, cursorAfter, goOn, sent, held, states, process } =
      await site(example)
    const first = start()
    for (const Status of [1, 2, 0]) await deliver(one, 'PO-1', Status)
    await untilCaughtUp()
    await first.kill()
    process()
    const more = goOn(await cursorAfter(1))
    await deliver(one, 'PO-2', 1)
    start(more)
    await untilAllArrived()
    expect(held()).toEqual(sent)
    expect(states()).toEqual({ [`${one.id} PO-1`]: 0, [`${one.id} PO-2`]: 1 })
  })

  it('ends with status 1 and the reason when deliveries were purged that it has not read, and begins again on request', async () => {
    const { where, one, start, deliver, untilAllArrived, untilCaughtUp, goOn, sent, held, states } = await site(example)
    const first = start()
    await deliver(one, 'PO-1', 1)
    await untilCaughtUp()
    await first.kill()
    const purged = await deliver(one, 'PO-1', 2)
    await deliver(one, 'PO-1', 3)
    expect(await cli(['purge', '--older', '0'], where)).toMatchObject({ deliveries: 2 })
    const before = held()
    for (let starts = 0; starts < 2; starts++) {
      const { ended, said } = start()
      expect(await ended).toBe(1)
      expect(said()).toContain('CURSOR_PURGED')
      expect(said()).toMatch(/ it has everything received since \d{4}-/)
      expect(held()).toEqual(before)
    }
    sent.delete(purged)
    start(goOn())
    await untilAllArrived()
    expect([held(), states()]).toEqual([sent, { [`${one.id} PO-1`]: 3 }])
  })

  it('ends with status 1 and the cursor to go on with when deliveries were lost that it has read', async () => {
    const url = await newDatabase(inject('postgresUrl'))
    const { one, other, start, deliver, untilAllArrived, untilCaughtUp, goOn, meanwhile, sent, held, states } =
      await site(example, url)
    const first = start()
    await deliver(one, 'PO-1', 1)
    await deliver(other, 'PO-1', 1)
    await deliver(one, 'PO-1', 2)
    await untilCaughtUp()
    await first.kill()
    // As after a failover to a standby that was behind.
    await meanwhile(() => runSql(url, 'DELETE FROM delivery WHERE position = (SELECT max(position) FROM delivery)'))
    const { ended, said } = start()
    expect(await ended).toBe(1)
    expect(said()).toContain('DELIVERIES_LOST')
    const [, cursor = ''] = /go on with the cursor ([\w-]+)/.exec(said()) ?? []
    await deliver(other, 'PO-1', 0)
    start(goOn(cursor))
    await untilAllArrived()
    expect([held(), states()]).toEqual([sent, { [`${one.id} PO-1`]: 2, [`${other.id} PO-1`]: 0 }])
  })
})

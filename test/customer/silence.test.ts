import { describe, expect, it } from 'vitest'
import { createSilence, inWords } from '#src/customer/silence/silence.rule.ts'
import { createSilenceWatch } from '#src/customer/silence/silence-watch.ts'
import { durationText, parseSilence } from '#src/lib/duration.ts'
import { textOf } from '#src/lib/messages/message.ts'
import { createVersionWatch } from '#src/lib/version-watch.ts'
import { operating } from '../support/app/operating.ts'
import { scrape, testOps } from '../support/app/scrape.ts'
import { addSupplier } from '../support/app/supplier.ts'
import { testApp } from '../support/app/test-app.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const iso = (milliseconds: number) => new Date(milliseconds).toISOString()

describe('a silent supplier', () => {
  /** A service with a watch of its own, which looks when the test says so. */
  const watched = async (settings = {}) => {
    const service = await testApp(settings)
    const { app, store, clock, config } = service
    const lines: unknown[] = []
    const say = {
      info: (details: object, message: string) => void lines.push({ ...details, message }),
      warn: (details: object, message: string) => void lines.push({ ...details, message }),
    }
    const silence = createSilence(store, config, clock)
    const versions = createVersionWatch(store.accountVersion, clock)
    const watch = createSilenceWatch({ silence, apiKeys: store.apiKeys, versions, clock, log: say })
    /** The lines of the log that a look writes. */
    const look = async () => {
      await watch.look()
      return lines.splice(0)
    }
    const deliver = async (key: string, payload = '{"Status":1}') => {
      const answer = await app.inject({ method: 'POST', url: '/Purchase/update', headers: { ApiKey: key }, payload })
      await app.keyUses.flush()
      return answer.statusCode
    }
    return { ...service, silence, versions, watch, look, deliver, say, lines }
  }

  it('is logged once, by its id, and once more when it is heard again', async () => {
    const service = await watched({ TESLIM_SILENCE: '24h' })
    const { clock, look, deliver } = service
    const { key, customer } = await addSupplier(service, { email: 'secret@example.com' })
    expect(await deliver(key)).toBe(200)
    const heardAt = clock.now()
    clock.time += DAY - 1
    expect(await look()).toEqual([])
    clock.time += 1
    const [line, ...more] = await look()
    expect([line, more]).toEqual([
      { customerId: customer.id, lastUsedAt: iso(heardAt), message: 'a supplier is silent' },
      [],
    ])
    expect(JSON.stringify(line)).not.toContain('secret')
    expect(await look()).toEqual([])
    expect(await deliver(key)).toBe(200)
    expect(await look()).toEqual([{ customerId: customer.id, message: 'a supplier is heard again' }])
    expect(await look()).toEqual([])
  })

  it('is heard by a delivery that is refused', async () => {
    const service = await watched({ TESLIM_SILENCE: '1m' })
    const { clock, look, deliver, watch } = service
    const { key } = await addSupplier(service)
    expect(await look()).toEqual([])
    clock.time += MINUTE
    expect(await deliver(key, 'no JSON')).toBe(400)
    expect([await look(), watch.count()]).toEqual([[], 0])
  })

  it('is one that never delivered, too, in other words', async () => {
    const service = await watched({ TESLIM_SILENCE: '24h' })
    const { clock, look, deliver } = service
    const { customer, key } = await addSupplier(service)
    const madeAt = clock.now()
    expect(await look()).toEqual([])
    clock.time += DAY
    expect(await look()).toEqual([
      {
        customerId: customer.id,
        keySince: iso(madeAt),
        message: 'a supplier has a key and has never delivered',
      },
    ])
    await deliver(key)
    expect(await look()).toEqual([{ customerId: customer.id, message: 'a supplier is heard again' }])
  })

  it('is only counted if it was silent before the server looked for the first time', async () => {
    const service = await watched({ TESLIM_SILENCE: '24h' })
    const { clock, look, watch } = service
    await addSupplier(service)
    await addSupplier(service)
    clock.time += 2 * DAY
    expect(watch.count()).toBeUndefined()
    expect(await look()).toEqual([{ suppliers: 2, message: 'suppliers are silent: teslim doctor names them' }])
    expect(await look()).toEqual([])
    expect(watch.count()).toBe(2)
  })

  it('is not heard again when it is disabled, or may be silent for longer', async () => {
    const service = await watched({ TESLIM_SILENCE: '24h' })
    const { clock, look, customers } = service
    const one = (await addSupplier(service)).customer
    const other = (await addSupplier(service)).customer
    await look()
    clock.time += DAY
    expect(await look()).toHaveLength(2)
    await customers.disable(one.id)
    await customers.set(other.id, { silence: 2 * DAY })
    const message = 'a supplier no longer counts as silent'
    expect(await look()).toEqual([one.id, other.id].sort().map((customerId) => ({ customerId, message })))
  })

  it('has a silence of its own, which may be off, or watched although the server watches nobody', async () => {
    const service = await watched()
    const { clock, silence, customers } = service
    const [one, off, usual] = [
      (await addSupplier(service)).customer.id,
      (await addSupplier(service)).customer.id,
      (await addSupplier(service)).customer.id,
    ]
    await customers.set(one, { silence: 6 * HOUR })
    await customers.set(off, { silence: 0 })
    clock.time += 6 * HOUR
    expect((await silence.all()).map(({ customerId }) => customerId)).toEqual([one])
    const everybody = createSilence(service.store, { silence: '6h' }, clock)
    expect((await everybody.all()).map(({ customerId }) => customerId)).toEqual([one, usual].sort())
  })

  it('is not looked for as long as nobody is watched', async () => {
    const service = await watched()
    const { clock, config, store, customers, versions, say, lines } = service
    const { id } = (await addSupplier(service)).customer
    let walks = 0
    const silence = createSilence(store, config, clock)
    const walk = () => {
      walks++
      return silence.walk()
    }
    const watch = createSilenceWatch({ silence: { walk }, apiKeys: store.apiKeys, versions, clock, log: say })
    for (let looks = 0; looks < 3; looks++) await watch.look()
    expect([walks, watch.count()]).toEqual([1, 0])
    clock.time += 15 * MINUTE
    for (let looks = 0; looks < 3; looks++) await watch.look()
    expect(walks).toBe(2)
    await customers.set(id, { silence: 6 * HOUR })
    await watch.look()
    clock.time += 6 * HOUR
    await watch.look()
    expect([walks, watch.count(), lines.length]).toEqual([4, 1, 1])
    await customers.set(id, { silence: 0 })
    for (let looks = 0; looks < 3; looks++) await watch.look()
    expect([walks, watch.count(), lines.length]).toEqual([5, 0, 2])
  })

  it('is what it was as long as the store is away', async () => {
    const service = await watched({ TESLIM_SILENCE: '24h' })
    const { store, clock, config, versions, say, lines } = service
    await addSupplier(service)
    clock.time += DAY
    const apiKeys = { ...store.apiKeys }
    const silence = createSilence({ apiKeys }, config, clock)
    const watch = createSilenceWatch({ silence, apiKeys, versions, clock, log: say })
    await watch.look()
    apiKeys.silentAfter = () => Promise.reject(new Error('the store is away'))
    await expect(watch.look()).rejects.toThrow('away')
    expect(watch.count()).toBe(1)
    apiKeys.silentAfter = store.apiKeys.silentAfter
    await watch.look()
    expect(lines).toHaveLength(1)
  })

  it('is silent late by no more than a clock was put back, and nobody else is', async () => {
    const service = await watched({ TESLIM_SILENCE: '2h' })
    const { clock, look, deliver } = service
    const { key } = await addSupplier(service)
    await look()
    clock.time += HOUR
    await deliver(key)
    clock.time -= HOUR
    // Two hours later the last use is an hour old by this clock.
    clock.time += 2 * HOUR
    expect(await look()).toEqual([])
    clock.time += HOUR
    expect(await look()).toHaveLength(1)
    // The next delivery corrects the time, however far ahead the clock was.
    clock.time += 10 * DAY
    await deliver(key)
    expect(await look()).toMatchObject([{ message: 'a supplier is heard again' }])
    clock.time -= 10 * DAY
    await deliver(key)
    clock.time += 2 * HOUR
    expect(await look()).toMatchObject([{ message: 'a supplier is silent' }])
  })

  it('writes few lines when a clock jumps and hundreds are silent at once', async () => {
    const service = await watched({ TESLIM_SILENCE: '1m' })
    const { clock, versions, say, lines, store } = service
    const silent = Array.from({ length: 120 }, (_, n) => ({ customerId: `c-${n}`, since: 1, everHeard: true }))
    let found: typeof silent = []
    const walk = async function* () {
      yield { silent: found.slice(0, 100), isWatched: true }
      yield { silent: found.slice(100), isWatched: true }
    }
    const watch = createSilenceWatch({ silence: { walk }, apiKeys: store.apiKeys, versions, clock, log: say })
    await watch.look()
    found = silent
    await watch.look()
    expect(lines.splice(0)).toHaveLength(51)
    found = []
    await watch.look()
    expect(lines).toHaveLength(51)
    expect(lines.at(-1)).toEqual({ suppliers: 70, message: 'more suppliers are no longer silent' })
  })

  it('is found among more customers than one query looks at', async () => {
    const service = await testApp({ TESLIM_SILENCE: '1m' })
    const { store, clock, config } = service
    const all = await Promise.all(Array.from({ length: 5 }, () => addSupplier(service)))
    clock.time += HOUR
    const apiKeys: typeof store.apiKeys = {
      ...store.apiKeys,
      silentAfter: (afterId, _scan, times) => store.apiKeys.silentAfter(afterId, 2, times),
    }
    const found = await createSilence({ apiKeys }, config, clock).all()
    expect(found.map(({ customerId }) => customerId)).toEqual(all.map(({ customer }) => customer.id).toSorted())
  })

  it('is shown to operators with the time, and counted in the metrics without a name', async () => {
    const service = await watched({ TESLIM_SILENCE: '24h' })
    const { app, clock, deliver } = service
    const { get } = await operating(service)
    const { customer, key } = await addSupplier(service)
    await deliver(key)
    const heardAt = clock.now()
    const shown = async () => {
      const { data } = (await get(`/Operator/customers?ids=${customer.id}`)).json()
      const { SilentSince, SilenceSeconds, Warnings } = data.Customers[0]
      return { SilentSince, SilenceSeconds, Warnings }
    }
    expect(await shown()).toEqual({ SilentSince: null, SilenceSeconds: null, Warnings: [] })
    const ops = testOps(service)
    await app.silenceWatch.look()
    expect((await scrape(ops)).get('teslim_suppliers_silent')).toBe(0)
    // The token would expire.
    await service.customers.set(customer.id, { silence: 60_000 })
    clock.time += 2 * MINUTE
    expect(await shown()).toEqual({ SilentSince: iso(heardAt), SilenceSeconds: 60, Warnings: ['SILENT'] })
    await app.silenceWatch.look()
    expect((await scrape(ops)).get('teslim_suppliers_silent')).toBe(1)
  })
})

describe('how long a silence is', () => {
  it('is off, or from a minute to a year', () => {
    expect(['off', '1m', '24h', '366d', '90s'].map(parseSilence)).toEqual([0, MINUTE, DAY, 366 * DAY, 90_000])
    expect(['0', '59s', '367d', '', 'on', '1y', '-1m', '1.5h'].map(parseSilence)).toEqual(Array(8).fill(undefined))
    expect([MINUTE, 90_000, DAY, 90 * MINUTE, 366 * DAY].map(durationText)).toEqual(['1m', '90s', '1d', '90m', '366d'])
  })

  it('is said in minutes, hours or days', () => {
    const words = [MINUTE, 119 * MINUTE, 2 * HOUR, 26.9 * HOUR, 2 * DAY, 400 * DAY].map((time) => textOf(inWords(time)))
    expect(words).toEqual(['1 minute', '119 minutes', '2 hours', '26 hours', '2 days', '400 days'])
  })
})

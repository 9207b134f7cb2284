import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { asciiLowerCase } from '#src/lib/text.ts'
import type { ApiKey, Customer, CustomerFilter, KeySummary, Silent, Store } from '#src/store/store.ts'
import { runs } from '../../support/random-runs.ts'
import { apiKey, customer } from '../../support/store/store-rows.ts'
import { bytes, type Open, promises } from './promises.ts'

const FLAGS = ['isApi', 'enabled'] as const
const SCOPES = ['customer', 'feed', 'operator:support', 'operator:read', 'operator'] as const
const isRemoved = ({ id, email }: Customer): boolean => email === `removed:${id}`

const fits = (one: Customer, { text, removed, scopes, ...flags }: CustomerFilter): boolean =>
  (text === undefined ||
    one.id.startsWith(text) ||
    [one.email, asciiLowerCase(one.name), asciiLowerCase(one.note)].some((words) => words.includes(text))) &&
  (removed === undefined || isRemoved(one) === removed) &&
  (scopes === undefined || scopes.includes(one.scope)) &&
  FLAGS.every((flag) => flags[flag] === undefined || one[flag] === flags[flag])

/** Reads all pages. */
async function searchAll({ customers }: Store, filter: CustomerFilter, from: string, most: number, scan: number) {
  const found: Customer[] = []
  for (let after: string | null = from; after !== null; ) {
    const page = await customers.search(filter, after, { limit: most, scan })
    expect(page.customers.length).toBeLessThanOrEqual(most)
    if (page.next !== null) expect(page.next > after).toBe(true)
    found.push(...page.customers)
    after = page.next
  }
  return found
}

/** What the port says, in other words. */
function summaryOf(keys: readonly ApiKey[], now: number, soon: number) {
  const alive = (key: ApiKey, at: number): boolean =>
    key.revokedAt === null && (key.expiresAt === null || key.expiresAt > at)
  const isReplaced = (key: ApiKey): boolean =>
    keys.some(
      (other) =>
        alive(other, Math.max(now, key.expiresAt ?? 0)) &&
        (other.id === key.successorId ||
          (key.label !== '' && other.label === key.label && other.createdAt > key.createdAt)),
    )
  const open = keys.filter((key) => key.revokedAt === null && (key.expiresAt ?? soon + 1) <= soon && !isReplaced(key))
  return {
    live: keys.filter((key) => alive(key, now)).length,
    expiring: open.filter((key) => alive(key, now)).length,
    expired: open.filter((key) => !alive(key, now)).length,
  }
}

export function describeAccountLists(name: string, open: Open): void {
  describe(`${name}: lists of accounts`, () => {
    const { promise, withCustomers } = promises(open)

    promise(
      'customers are found by a part of e-mail, name or note, a prefix of the id, role and state, page by page',
      async (store) => {
        const before = customer().id
        const flag = fc.boolean()
        const kinds = fc.sample(fc.record({ isApi: flag, scope: fc.constantFrom(...SCOPES), enabled: flag }), 20)
        const all = kinds.map((kind, number) =>
          customer({
            ...kind,
            email: `${'AB%_'[number % 4]}${number}@ı.example`,
            name: ['', 'KİTAP A.Ş.', 'kitap ışık', '\u212aelvin'][number % 4] ?? '',
            note: number % 3 === 0 ? '' : `Vergi no. ${number}\nkapı\\%_`,
          }),
        )
        for (const one of all) await store.customers.insert(one)
        for (const one of all.slice(0, 3)) {
          await store.customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: false })
        }
        const stored = await store.customers.list({ afterId: before, limit: 100 })
        expect(stored).toHaveLength(20)
        const anyFlag = fc.option(flag, { nil: undefined })
        const texts = fc.constantFrom(
          undefined,
          'B',
          '%',
          '_',
          '1@ı',
          'removed:',
          'nobody',
          'kitap',
          'k\u0130tap',
          'a.\u015e.',
          'a.\u015f.',
          'kelvin',
          'vergi no. 1',
          '\nkap\u0131\\%',
          "'",
          all[7]?.id,
          all[9]?.id.slice(0, 6),
        )
        await fc.assert(
          fc.asyncProperty(
            fc.record({
              text: texts,
              isApi: anyFlag,
              scopes: fc.option(fc.subarray([...SCOPES]), { nil: undefined }),
              enabled: anyFlag,
              removed: anyFlag,
            }),
            fc.constantFrom(1, 2, 7, 100),
            fc.constantFrom(1, 3, 20, 1000),
            async (filter, most, look) => {
              const expected = stored.filter((one) => fits(one, filter))
              expect(await searchAll(store, filter, before, most, look)).toEqual(expected)
            },
          ),
          { numRuns: runs(30) },
        )
      },
    )

    promise('a search looks at no more customers than it may', async (store) => {
      const all = [customer(), customer(), customer()]
      for (const one of all) await store.customers.insert(one)
      const [first, second, third] = all.map(({ id }) => id)
      const before = `${first?.slice(0, -1)}${Number(first?.slice(-1)) - 1}`
      const nobody = { text: 'nobody' }
      expect(await store.customers.search(nobody, before, { limit: 5, scan: 2 })).toEqual({
        customers: [],
        next: second,
      })
      const last = await store.customers.search({ text: third ?? '' }, second ?? '', { limit: 5, scan: 2 })
      expect(last).toEqual({ customers: [all[2]], next: null })
    })

    promise('many customers are found by their ids', async ({ customers }) => {
      const [a, b, c] = [customer(), customer(), customer()]
      for (const one of [b, a, c]) await customers.insert(one)
      expect(await customers.findMany([c.id, 'nobody', a.id, c.id, "'"])).toEqual([a, c])
      expect(await customers.findMany([])).toEqual([])
      const names = await customers.names([c.id, 'nobody', a.id, c.id, "'"])
      const nameOf = ({ id, name, email }: typeof a) => ({ id, name, email })
      expect(names.toSorted((one, other) => (one.id < other.id ? -1 : 1))).toEqual([a, c].map(nameOf))
      expect(await customers.names([])).toEqual([])
    })

    withCustomers('a key is found by its id, with its last use', async ({ apiKeys }, one) => {
      const key = apiKey(one.id)
      await apiKeys.insert(key)
      const found = async () => {
        const { hash, ...rest } = (await apiKeys.findById(key.id)) ?? {}
        return { ...rest, hash: bytes(hash) }
      }
      expect(await found()).toEqual({ ...key, lastUse: null })
      const use = { keyId: key.id, usedAt: 20, address: '::1' }
      await apiKeys.recordUses([use], 20)
      expect(await found()).toEqual({ ...key, lastUse: use })
      expect(await apiKeys.findById('none')).toBeUndefined()
    })

    promise('the keys of customers are summarized as the port says, whatever keys there are', async (store) => {
      const [now, soon] = [100, 200]
      const time = fc.option(fc.constantFrom(50, 100, 101, 150, 200, 201, 300))
      const made = fc.record({
        label: fc.constantFrom('', 'erp', 'shop'),
        createdAt: fc.integer({ min: 1, max: 5 }),
        expiresAt: time,
        revokedAt: fc.option(fc.constant(7), { freq: 4 }),
        usedAt: fc.option(fc.integer({ min: 1, max: 90 })),
        rotates: fc.boolean(),
      })
      await fc.assert(
        fc.asyncProperty(fc.array(made, { maxLength: 8 }), fc.array(made, { maxLength: 3 }), async (mine, others) => {
          const expected: KeySummary[] = []
          for (const keys of [mine, others]) {
            const one = customer()
            await store.customers.insert(one)
            for (const { usedAt: _, rotates, revokedAt, ...more } of keys) {
              const listed = await store.apiKeys.list(one.id)
              const key = apiKey(one.id, more)
              const old = rotates ? listed.at(-1) : undefined
              const times = { now: 10, endsAt: old?.expiresAt ?? 150 }
              if (old === undefined || !(await store.apiKeys.rotate(old.id, key, times)))
                await store.apiKeys.insert(key)
              if (revokedAt !== null) await store.apiKeys.revoke(key.id, revokedAt)
            }
            const listed = await store.apiKeys.list(one.id)
            const uses = listed.flatMap((key, index) => {
              const usedAt = keys[index]?.usedAt ?? null
              return usedAt === null || key.revokedAt !== null ? [] : [{ keyId: key.id, usedAt, address: '::1' }]
            })
            await store.apiKeys.recordUses(uses, now)
            const lastUsedAt = uses.length === 0 ? null : Math.max(...uses.map(({ usedAt }) => usedAt))
            if (listed.length > 0) expected.push({ customerId: one.id, lastUsedAt, ...summaryOf(listed, now, soon) })
            else expect(await store.apiKeys.summaries([one.id], { now, soon })).toEqual([])
          }
          const ids = expected.map(({ customerId }) => customerId)
          const found = await store.apiKeys.summaries([...ids, 'nobody'], { now, soon })
          const byId = (some: readonly KeySummary[]) => some.toSorted((a, b) => (a.customerId < b.customerId ? -1 : 1))
          expect(byId(found)).toEqual(byId(expected))
        }),
        { numRuns: runs(25) },
      )
    })

    promise('who is silent is found as the port says, one by one and page by page', async (store) => {
      const now = 1000
      const time = fc.constantFrom(1, 499, 500, 501, 899, 900, 901, 1000, 5000)
      const made = fc.record({
        enabled: fc.boolean(),
        authority: fc.constantFrom([], ['*']),
        silence: fc.constantFrom(null, 0, 100, 500),
        keys: fc.array(fc.record({ createdAt: time, usedAt: fc.option(time), isRevoked: fc.boolean() }), {
          maxLength: 3,
        }),
      })
      await fc.assert(
        fc.asyncProperty(
          fc.array(made, { minLength: 1, maxLength: 8 }),
          fc.constantFrom(0, 100, 500),
          fc.constantFrom(1, 3, 100),
          async (all, silence, scan) => {
            const before = customer().id
            const ids: string[] = []
            const expected: Silent[] = []
            for (const { keys, ...more } of all) {
              const one = customer(more)
              ids.push(one.id)
              await store.customers.insert(one)
              for (const { createdAt, usedAt, isRevoked } of keys) {
                const key = apiKey(one.id, { createdAt })
                await store.apiKeys.insert(key)
                if (usedAt !== null) await store.apiKeys.recordUses([{ keyId: key.id, usedAt, address: '::1' }], usedAt)
                if (isRevoked) await store.apiKeys.revoke(key.id, 1)
              }
              const used = keys.flatMap(({ usedAt }) => usedAt ?? [])
              const [since, limit] = [
                used.length > 0 ? Math.max(...used) : Math.min(...keys.map(({ createdAt }) => createdAt)),
                more.silence ?? silence,
              ]
              const isWatched = more.enabled && more.authority.length > 0 && keys.length > 0 && limit > 0
              if (isWatched && now - since >= limit)
                expected.push({ customerId: one.id, since, everHeard: used.length > 0 })
            }
            const times = { now, silence }
            expect(await store.apiKeys.silentAmong([...ids, 'nobody'], times)).toEqual(expected)
            const found: Silent[] = []
            let isAnyWatched = false
            for (let after: string | null = before; after !== null; ) {
              const { silent, isWatched, next } = await store.apiKeys.silentAfter(after, scan, times)
              if (silent.length > 0) expect(isWatched).toBe(true)
              isAnyWatched ||= isWatched
              expect(silent.length).toBeLessThanOrEqual(scan)
              if (next !== null) expect(next > after).toBe(true)
              found.push(...silent)
              after = next
            }
            expect(found).toEqual(expected)
            expect(isAnyWatched).toBe(all.some((one) => one.enabled && (one.silence ?? silence) > 0))
          },
        ),
        { numRuns: runs(25) },
      )
    })

    withCustomers('a customer that was removed is never silent', async ({ apiKeys, customers }, one) => {
      await apiKeys.insert(apiKey(one.id))
      const times = { now: 1000, silence: 10 }
      expect(await apiKeys.silentAmong([one.id], times)).toHaveLength(1)
      await customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: false })
      expect(await apiKeys.silentAmong([one.id], times)).toEqual([])
    })
  })
}

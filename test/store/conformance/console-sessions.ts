import { describe, expect } from 'vitest'
import type { Customer, CustomerStore } from '#src/store/store.ts'
import { consoleSession, isSessionThere } from '../../support/store/store-rows.ts'
import { bytes, changesAccountVersion, type Open, promises } from './promises.ts'

/** What ends the sessions of a customer, and what does not. */
const ENDING: Record<string, (customers: CustomerStore, id: string) => Promise<unknown>> = {
  'a new password': ({ setPassword }, id) => setPassword(id, 'new', 'b'),
  disabling: ({ disable }, id) => disable(id, { reason: null, tokenGeneration: 'b' }),
  'the end of all tokens': ({ revokeTokens }, id) => revokeTokens(id, 'b'),
  'another role': ({ change }, id) => change(id, { scope: 'operator' }),
  'a role for support that sees payloads': ({ change }, id) => change(id, { payloads: true }),
  'the end of the right to log in': ({ change }, id) => change(id, { isApi: false }),
  'other regions': ({ change }, id) => change(id, { regions: ['TR', 'US'] }),
  removal: ({ remove }, id) => remove(id, { tokenGeneration: 'b', now: 7, erase: false }),
}
const OTHERS: typeof ENDING = {
  'a new name': ({ change }, id) => change(id, { name: 'new', note: 'new', silence: 5 }),
  'a rule': ({ addAuthority }, id) => addAuthority(id, ['new']),
  'the same password under new parameters': ({ replacePasswordHash }, id) => replacePasswordHash(id, 'old', 'new'),
  enabling: ({ enable }, id) => enable(id),
}

export function describeConsoleSessions(name: string, open: Open): void {
  describe(`${name}: sessions of the console`, () => {
    const { withCustomers } = promises(open)

    const NOW = 1_763_726_400_123
    const how = ({ tokenGeneration }: Customer, more = {}) => ({
      tokenGeneration,
      formers: [],
      most: 10,
      now: NOW,
      ...more,
    })

    withCustomers('are found by their digest until they expire', async ({ consoleSessions }, one) => {
      const session = consoleSession(one.id, { idleUntil: NOW + 100 })
      expect(await consoleSessions.begin(session, how(one))).toBe(true)
      const found = await consoleSessions.find(session.digest, NOW + 99)
      expect({ ...found, digest: bytes(found?.digest) }).toEqual({ ...session, digest: bytes(session.digest) })
      expect(await consoleSessions.find(session.digest, NOW + 100)).toBeUndefined()
      expect(await consoleSessions.find(consoleSession(one.id).digest, NOW)).toBeUndefined()
    })

    withCustomers('are renewed until their end, and not after they expired', async ({ consoleSessions }, one) => {
      const session = consoleSession(one.id, { idleUntil: NOW + 100, endsAt: NOW + 300 })
      await consoleSessions.begin(session, how(one))
      expect(await consoleSessions.expiry(session.id)).toBe(NOW + 100)
      const renew = async (idleUntil: number, now: number) =>
        (await consoleSessions.renew(session.digest, idleUntil, now))?.idleUntil
      expect(await renew(NOW + 150, NOW + 50)).toBe(NOW + 150)
      expect(await renew(NOW + 999, NOW + 149)).toBe(NOW + 300)
      expect(await consoleSessions.expiry(session.id)).toBe(NOW + 300)
      expect(await renew(NOW + 999, NOW + 300)).toBeUndefined()
      expect(await consoleSessions.find(session.digest, NOW + 299)).toBeDefined()
    })

    withCustomers(
      'end by their digest, which changes the version; what is none changes nothing',
      async (store, one) => {
        const { consoleSessions } = store
        const [session, other] = [consoleSession(one.id), consoleSession(one.id)]
        await consoleSessions.begin(session, how(one))
        expect(await isSessionThere(consoleSessions, session.id)).toBe(true)
        expect(await changesAccountVersion(store, () => consoleSessions.end(other.digest))).toBe(false)
        expect(await changesAccountVersion(store, () => consoleSessions.end(session.digest))).toBe(true)
        expect(await isSessionThere(consoleSessions, session.id)).toBe(false)
        expect(await consoleSessions.end(session.digest)).toBe(false)
      },
    )

    withCustomers('end those before in the same browser, and the oldest beyond the most', async (store, one, two) => {
      const { consoleSessions } = store
      const begun = Array.from({ length: 7 }, (_, n) => consoleSession(one.id, { authAt: NOW + n }))
      const foreign = consoleSession(two.id, { authAt: NOW - 9 })
      await consoleSessions.begin(foreign, how(two))
      const there = async () => {
        const all = await Promise.all(begun.map(({ id }) => isSessionThere(consoleSessions, id)))
        return all.flatMap((is, n) => (is ? [n] : []))
      }
      const [first, second, third, fourth, fifth, sixth, seventh] = begun as [(typeof begun)[0], ...typeof begun]
      for (const each of [first, second, third]) if (each) await consoleSessions.begin(each, how(one, { most: 3 }))
      expect(await there()).toEqual([0, 1, 2])
      const begins = (session = first, formers: readonly Uint8Array[] = []) =>
        changesAccountVersion(store, () => consoleSessions.begin(session, how(one, { formers, most: 3 })))
      expect(await begins(fourth)).toBe(true)
      expect(await there()).toEqual([1, 2, 3])
      expect(await begins(fifth, third && [third.digest])).toBe(true)
      expect(await there()).toEqual([1, 3, 4])
      await begins(sixth)
      expect(await there()).toEqual([3, 4, 5])
      const formers = [fourth, fifth].flatMap((each) => each?.digest ?? [])
      await begins(seventh, [consoleSession(one.id).digest, ...formers])
      expect(await there()).toEqual([5, 6])
      expect(await isSessionThere(consoleSessions, foreign.id)).toBe(true)
    })

    withCustomers('that begin at the same moment do not end themselves', async ({ consoleSessions }, one) => {
      for (let n = 0; n < 20; n++) {
        const session = consoleSession(one.id, { id: `${n % 2 ? 'a' : 'z'}-${one.id}-${n}` })
        await consoleSessions.begin(session, how(one, { most: 2 }))
        expect(await isSessionThere(consoleSessions, session.id)).toBe(true)
      }
    })

    withCustomers('begin after the clock has gone back, and end the oldest of the others', async (store, one) => {
      const { consoleSessions } = store
      const begun = [30, 10, 20, 0].map((later) => consoleSession(one.id, { authAt: NOW + later }))
      for (const session of begun) expect(await consoleSessions.begin(session, how(one, { most: 3 }))).toBe(true)
      const there = await Promise.all(begun.map(({ id }) => isSessionThere(consoleSessions, id)))
      expect(there).toEqual([true, false, true, true])
    })

    withCustomers('do not begin once the tokens of the customer have ended', async (store, one) => {
      const { consoleSessions, customers } = store
      const session = consoleSession(one.id)
      await customers.revokeTokens(one.id, 'another')
      expect(await consoleSessions.begin(session, how(one))).toBe(false)
      expect(await isSessionThere(consoleSessions, session.id)).toBe(false)
    })

    withCustomers('that begin while the tokens end are ended', async (store, one) => {
      const { consoleSessions, customers } = store
      const begun = Array.from({ length: 8 }, () => consoleSession(one.id))
      const beginning = begun.map((session) => consoleSessions.begin(session, how(one)))
      await Promise.all([...beginning.slice(0, 4), customers.revokeTokens(one.id, 'another'), ...beginning.slice(4)])
      expect(await Promise.all(begun.map(({ id }) => isSessionThere(consoleSessions, id)))).toEqual(
        begun.map(() => false),
      )
    })

    for (const [what, change] of [...Object.entries(ENDING), ...Object.entries(OTHERS)]) {
      const ends = what in ENDING
      withCustomers(`${ends ? 'end' : 'go on'} with ${what} of their customer`, async (store, one, two) => {
        const { consoleSessions, customers } = store
        const [session, foreign] = [consoleSession(one.id), consoleSession(two.id)]
        await consoleSessions.begin(session, how(one))
        await consoleSessions.begin(foreign, how(two))
        await change(customers, one.id)
        expect(await isSessionThere(consoleSessions, session.id)).toBe(!ends)
        expect(await isSessionThere(consoleSessions, foreign.id)).toBe(true)
      })
    }

    withCustomers('that have expired are deleted', async ({ consoleSessions }, one) => {
      const [old, young] = [100, 200].map((idle) => consoleSession(one.id, { idleUntil: NOW + idle }))
      for (const each of [old, young]) if (each) await consoleSessions.begin(each, how(one))
      await consoleSessions.deleteExpired(NOW + 100)
      const there = () => Promise.all([old, young].map((each) => isSessionThere(consoleSessions, each?.id ?? '')))
      expect(await there()).toEqual([false, true])
      await consoleSessions.begin(consoleSession(one.id), how(one, { now: NOW + 200 }))
      expect(await there()).toEqual([false, false])
    })

    withCustomers('all end at once', async (store, one) => {
      const { consoleSessions } = store
      const session = consoleSession(one.id)
      await consoleSessions.begin(session, how(one))
      expect(await changesAccountVersion(store, consoleSessions.endAll)).toBe(true)
      expect(await isSessionThere(consoleSessions, session.id)).toBe(false)
    })
  })
}

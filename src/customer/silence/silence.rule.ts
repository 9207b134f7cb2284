import type { Config } from '#src/config/load-config.ts'
import type { Clock } from '#src/lib/clock.ts'
import { DAY_MILLISECONDS, HOUR_MILLISECONDS, parseSilence } from '#src/lib/duration.ts'
import { type Message, message } from '#src/lib/messages/message.ts'
import type { Customer, Silent, SilentPage, Store } from '#src/store/store.ts'

export type Silence = ReturnType<typeof createSilence>

/** Customers that one query looks at: other reads wait for no more than this. */
const AT_ONCE = 1_000

/** Finds suppliers from which nothing came for too long. Every door asks here, so that all say the same. */
export function createSilence({ apiKeys }: Pick<Store, 'apiKeys'>, config: Pick<Config, 'silence'>, clock: Clock) {
  const silence = parseSilence(config.silence) ?? 0
  const times = () => ({ now: clock.now(), silence })

  /** Yields all of them, by id, as it finds them. */
  async function* walk(): AsyncGenerator<Omit<SilentPage, 'next'>> {
    for (let after: string | null = ''; after !== null; ) {
      const page: SilentPage = await apiKeys.silentAfter(after, AT_ONCE, times())
      yield page
      after = page.next
    }
  }

  return {
    walk,
    all: async (): Promise<Silent[]> => (await Array.fromAsync(walk())).flatMap(({ silent }) => silent),
    /** Finds those among some customers, under their ids. */
    async among(ids: readonly string[]): Promise<ReadonlyMap<string, Silent>> {
      const found = ids.length === 0 ? [] : await apiKeys.silentAmong(ids, times())
      return new Map(found.map((one) => [one.customerId, one]))
    },
    /** Whether this customer is silent once nothing has come for long enough. */
    watches: (customer: Pick<Customer, 'enabled' | 'authority' | 'silence'>): boolean =>
      customer.enabled && customer.authority.length > 0 && (customer.silence ?? silence) > 0,
  }
}

const MINUTE_MILLISECONDS = 60_000

/** A length of time in words: minutes up to two hours, hours up to two days. */
export function inWords(milliseconds: number): Message {
  if (milliseconds < 2 * HOUR_MILLISECONDS)
    return message('MINUTES', { count: Math.floor(milliseconds / MINUTE_MILLISECONDS) })
  if (milliseconds < 2 * DAY_MILLISECONDS)
    return message('HOURS', { count: Math.floor(milliseconds / HOUR_MILLISECONDS) })
  return message('DAYS', { count: Math.floor(milliseconds / DAY_MILLISECONDS) })
}

/** Says how long a supplier has been silent: `silent for 26 hours`. */
export const silentText = ({ since, everHeard }: Silent, now: number): Message =>
  message(everHeard ? 'SILENT_FOR' : 'NEVER_DELIVERED', { time: inWords(now - since) })

import type { WebhookStore } from '../../store.ts'
import type { Dialect } from '../dialect.ts'
import type { Noun } from '../work.ts'
import { type AttemptSteps, attempts } from './attempts.ts'
import { type EndpointSteps, endpoints } from './endpoints.ts'
import { fates, type JournalSteps, trimming } from './journal.ts'
import { leases } from './leases.ts'
import { isPlain, type ProgressSteps, progressOf } from './progress.ts'
import { REVIVED_AT_ONCE, type ReplaySteps, replays } from './replays.ts'
import { waitingReads } from './waiting-reads.ts'

type Steps = Omit<WebhookStore, 'change' | 'remove' | 'replay' | 'setReplay' | 'save' | 'tidy'> &
  EndpointSteps &
  ReplaySteps &
  ProgressSteps &
  JournalSteps &
  AttemptSteps

export const webhooks = (dialect: Dialect): Noun<Steps> => ({
  ...endpoints(dialect),
  ...leases(dialect),
  ...progressOf(dialect),
  ...waitingReads(dialect),
  ...replays(dialect),
  ...fates(dialect),
  ...trimming(dialect),
  ...attempts(dialect),
})

export function webhookStore(steps: Steps): WebhookStore {
  const { changeOne, beginFilter, empty, removeOne, replaySome, changeReplay, ...others } = steps
  const { advance, saveAll, overdue, trim, expire, ...rest } = others
  return {
    ...rest,
    change: async (id, change) => ((await changeOne(id, change)) ? steps.find(id) : undefined),
    async load(id) {
      const loaded = await steps.load(id)
      const isChanged = loaded?.webhook.formerFilters.at(-1)?.until === null
      return isChanged && !(await beginFilter(loaded.webhook)) ? undefined : loaded
    },
    async remove(id) {
      while (await empty(id));
      return removeOne(id)
    },
    save: async (holder, saves, now) => (saves.every(isPlain) ? advance : saveAll)(holder, saves, now),
    async tidy(now) {
      while (await expire(now));
      for (const id of await overdue(now)) while (await trim(id, now));
    },
    async replay(id, what, now) {
      let sum = 0
      for (;;) {
        const some = await replaySome(id, what, now)
        if (some === undefined) return undefined
        sum += some
        if (what !== 'set-aside' || some < REVIVED_AT_ONCE) return sum
      }
    },
    setReplay: async (id, replay) => ((await changeReplay(id, replay)) ? steps.find(id) : undefined),
  }
}

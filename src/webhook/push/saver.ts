import type { After, Clock } from '#src/lib/clock.ts'
import type { WebhookStore } from '#src/store/store.ts'
import type { Endpoint } from './endpoint.ts'

export interface SaverDependencies {
  readonly webhooks: Pick<WebhookStore, 'save'>
  readonly holder: string
  readonly clock: Clock
  readonly after: After
  /** The progress of this endpoint was not stored: it is not there any more, or another process may hold it. */
  readonly onRefused: (endpoint: Endpoint) => void
  readonly onFailed: (error: unknown) => void
  readonly onWorking: () => void
}

/** With the time that it takes to save, what was confirmed is stored within 20 ms. */
const PAUSE_MILLISECONDS = 15
const AGAIN_MILLISECONDS = 1000
/** A save that takes longer counts as failed until it ends. */
const PATIENCE_MILLISECONDS = 5000

/** Stores the progress of all endpoints: one transaction at a time, with whatever changed since the one before. */
export function createSaver(dependencies: SaverDependencies) {
  const { webhooks, holder, clock, after, onRefused, onFailed, onWorking } = dependencies
  const changed = new Set<Endpoint>()
  let isWorking = true
  let isScheduled = false
  let saving: Promise<void> | undefined
  let savingSince: number | undefined

  const canSave = (): boolean =>
    isWorking && (savingSince === undefined || clock.monotonic() - savingSince < PATIENCE_MILLISECONDS)

  const save = async (endpoints: readonly Endpoint[], everything: boolean): Promise<void> => {
    const taken = endpoints.flatMap((endpoint) => {
      const save = endpoint.take(everything)
      return save === undefined ? [] : [{ endpoint, save }]
    })
    if (taken.length === 0) return
    const saves = taken.map(({ save }) => save.stored)
    try {
      const stored = new Set(await webhooks.save(holder, saves, clock.now()))
      for (const each of taken) {
        if (stored.has(each.endpoint.id)) each.endpoint.wasStored(each.save)
        else onRefused(each.endpoint)
      }
    } catch (error) {
      for (const each of taken) each.endpoint.putBack(each.save)
      throw error
    }
  }

  const saveChanged = async (): Promise<void> => {
    const endpoints = [...changed]
    changed.clear()
    savingSince = clock.monotonic()
    const could = isWorking
    try {
      await save(endpoints, false)
      const wasLate = !canSave()
      isWorking = true
      savingSince = undefined
      if (!could || wasLate) onWorking()
    } catch (error) {
      for (const endpoint of endpoints) changed.add(endpoint)
      isWorking = false
      savingSince = undefined
      onFailed(error)
    }
  }

  const saveSoon = (milliseconds: number): void => {
    if (isScheduled || saving !== undefined) return
    isScheduled = true
    after(milliseconds, () => {
      isScheduled = false
      saving = saveChanged().finally(() => {
        saving = undefined
        if (changed.size > 0) saveSoon(isWorking ? PAUSE_MILLISECONDS : AGAIN_MILLISECONDS)
      })
    })
  }

  return {
    mark(endpoint: Endpoint) {
      changed.add(endpoint)
      saveSoon(PAUSE_MILLISECONDS)
    },
    forget: (endpoint: Endpoint) => void changed.delete(endpoint),
    canSave,
    /** Stores everything there is of these endpoints. Rejects if that fails. */
    async flush(endpoints: readonly Endpoint[]) {
      // A save under way has part of it.
      await saving
      for (const endpoint of endpoints) changed.delete(endpoint)
      await save(endpoints, true)
    },
  }
}

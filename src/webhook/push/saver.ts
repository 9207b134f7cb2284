import type { Clock } from '#src/lib/clock.ts'
import type { WebhookSave, WebhookStore } from '#src/store/store.ts'
import type { Run } from './run.ts'
import type { After } from './timers.ts'

export interface SaverDependencies {
  readonly webhooks: Pick<WebhookStore, 'save'>
  readonly holder: string
  readonly clock: Clock
  readonly after: After
  /** The progress of this run was not stored, because its lease or its epoch is no longer that of the store. */
  readonly onRefused: (run: Run) => void
  readonly onFailed: (error: unknown) => void
  readonly onWorking: () => void
}

/** Stores the progress of all endpoints: one transaction at a time, with whatever changed since the one before. */
export interface Saver {
  mark(run: Run): void
  forget(run: Run): void
  isWorking(): boolean
  /** Stores everything there is of these runs. Rejects if that fails. */
  flush(runs: readonly Run[]): Promise<void>
}

const PAUSE_MILLISECONDS = 50
const AGAIN_MILLISECONDS = 1000
/** A save that takes longer counts as failed until it ends. */
const PATIENCE_MILLISECONDS = 5000

export function createSaver(dependencies: SaverDependencies): Saver {
  const { webhooks, holder, clock, after, onRefused, onFailed, onWorking } = dependencies
  const changed = new Set<Run>()
  let working = true
  let waiting = false
  let saving: Promise<void> | undefined
  let savingSince: number | undefined

  const isWorking = (): boolean =>
    working && (savingSince === undefined || clock.monotonic() - savingSince < PATIENCE_MILLISECONDS)

  const save = async (runs: readonly Run[], everything: boolean): Promise<void> => {
    const taken = runs.flatMap((run) => {
      const one = run.takeSave(everything)
      return one === undefined ? [] : [[run, one] as [Run, WebhookSave]]
    })
    if (taken.length === 0) return
    try {
      const stored = new Set(
        await webhooks.save(
          holder,
          taken.map(([, one]) => one),
          clock.now(),
        ),
      )
      for (const [run, { id }] of taken) if (!stored.has(id)) onRefused(run)
    } catch (error) {
      for (const [run, one] of taken) run.putBack(one)
      throw error
    }
  }

  const saveChanged = async (): Promise<void> => {
    const runs = [...changed]
    changed.clear()
    savingSince = clock.monotonic()
    try {
      await save(runs, false)
      const wasWorking = isWorking()
      working = true
      savingSince = undefined
      if (!wasWorking) onWorking()
    } catch (error) {
      for (const run of runs) changed.add(run)
      working = false
      savingSince = undefined
      onFailed(error)
    }
  }

  const saveSoon = (milliseconds: number): void => {
    if (waiting || saving !== undefined) return
    waiting = true
    after(milliseconds, () => {
      waiting = false
      saving = saveChanged().finally(() => {
        saving = undefined
        if (changed.size > 0) saveSoon(working ? PAUSE_MILLISECONDS : AGAIN_MILLISECONDS)
      })
    })
  }

  return {
    mark(run) {
      changed.add(run)
      saveSoon(PAUSE_MILLISECONDS)
    },
    forget: (run) => void changed.delete(run),
    isWorking,
    async flush(runs) {
      // A save under way has part of it.
      await saving
      for (const run of runs) changed.delete(run)
      await save(runs, true)
    },
  }
}

import type { Database } from './database.ts'

/** `deliver_1` notifies only where somebody holds this lock, as each notice costs a commit some time. */
const LISTEN = `
  LISTEN teslim_delivery;
  SELECT pg_advisory_lock_shared(7425, -'last_position'::regclass::oid::integer)`
/** Where notices do not reach us: behind a pooler, or until a lost connection is back. */
const LOOK_EVERY_MILLISECONDS = 200
const LISTEN_AGAIN_AFTER_LOOKS = 10

export interface CommitWatch {
  watch(onCommit: () => void): () => void
  close(): void
}

/** Tells of deliveries that any replica committed, and once too often rather than once too seldom. */
export function createCommitWatch({ listen }: Pick<Database, 'listen'>): CommitWatch {
  const watchers = new Set<() => void>()
  let started = false
  let leave: (() => void) | undefined
  let timer: NodeJS.Timeout | undefined

  const tellAll = (): void => {
    for (const onCommit of watchers) onCommit()
  }

  const stop = (): void => {
    started = false
    clearInterval(timer)
    timer = undefined
    leave?.()
    leave = undefined
  }

  const lookMeanwhile = (): void => {
    leave = undefined
    let looks = 0
    if (started) {
      timer ??= setInterval(() => {
        tellAll()
        if (++looks % LISTEN_AGAIN_AFTER_LOOKS === 0) void start()
      }, LOOK_EVERY_MILLISECONDS).unref()
    }
  }

  const start = async (): Promise<void> => {
    try {
      const end = await listen(LISTEN, tellAll, lookMeanwhile)
      if (!started) {
        end()
        return
      }
      leave = end
      clearInterval(timer)
      timer = undefined
      // For what was committed while nobody listened.
      tellAll()
    } catch {
      lookMeanwhile()
    }
  }

  return {
    watch(onCommit) {
      watchers.add(onCommit)
      if (!started) {
        started = true
        void start()
      }
      return () => {
        watchers.delete(onCommit)
        if (watchers.size === 0) stop()
      }
    },
    close: stop,
  }
}

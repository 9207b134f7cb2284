import type { Listening } from '../connection/listening.ts'
import type { Database } from '../database.ts'

/** `deliver_1` notifies only while somebody holds this lock. Asking for it waits for the commit that is under way. */
const LOCK = `7425, -'last_position'::regclass::oid::integer`
const WANT_NOTICES = `SELECT pg_advisory_lock_shared(${LOCK})`
const WANT_NONE = `SELECT pg_advisory_unlock_shared(${LOCK})`
const LISTEN = `LISTEN teslim_delivery; ${WANT_NOTICES}`
/** Notices slow commits down: after one, none are requested for this long. Deliveries committed meanwhile are read together. */
const REST_MILLISECONDS = 10
/** Used while no notices arrive: behind a pooler, or until a lost connection is replaced. */
const POLL_EVERY_MILLISECONDS = 200
const LISTEN_AGAIN_AFTER_POLLS = 10

interface CommitWatch {
  watch(onCommit: () => void): () => void
  close(): void
}

/** Calls back after every commit of any replica, and sometimes without one. */
export function createCommitWatch({ listen }: Pick<Database, 'listen'>): CommitWatch {
  const watchers = new Set<() => void>()
  let started = false
  /** Whoever stops and starts while a connection is being opened starts twice; only the last one counts. */
  let starts = 0
  let listening: Listening | undefined
  let resting: NodeJS.Timeout | undefined
  let timer: NodeJS.Timeout | undefined

  const tellAll = (): void => {
    for (const onCommit of watchers) onCommit()
  }

  const stop = (): void => {
    started = false
    clearInterval(timer)
    timer = undefined
    clearTimeout(resting)
    resting = undefined
    listening?.leave()
    listening = undefined
  }

  const takeNotice = (): void => {
    if (listening === undefined || resting !== undefined) return
    const { run, leave } = listening
    const isOver = (): boolean => listening?.run !== run
    const giveUp = (): void => {
      if (isOver()) return
      leave()
      poll()
    }
    tellAll()
    run(WANT_NONE).catch(giveUp)
    resting = setTimeout(async () => {
      await run(WANT_NOTICES).catch(giveUp)
      if (isOver()) return
      resting = undefined
      // Covers commits of the rest period.
      tellAll()
    }, REST_MILLISECONDS)
  }

  const poll = (): void => {
    clearTimeout(resting)
    resting = undefined
    listening = undefined
    let polls = 0
    if (started) {
      timer ??= setInterval(() => {
        tellAll()
        if (++polls % LISTEN_AGAIN_AFTER_POLLS === 0) void start()
      }, POLL_EVERY_MILLISECONDS).unref()
    }
  }

  const start = async (): Promise<void> => {
    const number = ++starts
    try {
      const opened = await listen(LISTEN, takeNotice, poll)
      if (!started || number !== starts) {
        opened.leave()
        return
      }
      listening = opened
      clearInterval(timer)
      timer = undefined
      // Covers commits from before it listened.
      tellAll()
    } catch {
      if (number === starts) poll()
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

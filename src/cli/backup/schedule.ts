import { statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Config } from '#src/config/load-config.ts'
import { AppError, reasonOf } from '#src/lib/app-error.ts'
import { refuseMoved, sqlitePath } from '#src/store/open-store.ts'
import { storeMoved } from '#src/store/store.errors.ts'
import { type CliContext, Misuse } from '../command.ts'
import { withStore } from '../with-store.ts'
import { backUp, backupJson, backupText } from './make-backup.ts'

interface Schedule {
  readonly config: Config
  readonly folder: string
  /** Milliseconds. */
  readonly every: number
  readonly keep: number
  readonly json: boolean
  readonly stop: AbortSignal
}

/** How long after a failure it is tried again, unless the interval is shorter. */
const RETRY_MILLISECONDS = 5 * 60_000
/** 24.86 days. Node ends a longer timer immediately. */
const MAX_TIMER = 2 ** 31 - 1

/** Makes backups until told to stop, or until the store is moved. The first one is due when the last one is older than the interval. */
export async function keepBackingUp(schedule: Schedule, context: CliContext): Promise<void> {
  const { config, every, keep, json, stop } = schedule
  const folder = resolve(schedule.folder)
  requireFolder(folder)
  const last = await withStore(context, 'read', (store) => store.lastBackupAt())
  refuseMoved(config)
  let due = last === undefined ? 0 : last + every
  for (;;) {
    // The clock may have jumped, so a wait is never longer than the interval.
    await pause(Math.min(due - context.clock.now(), every), stop)
    if (stop.aborted) return
    const began = context.clock.now()
    const path = join(folder, nameAt(sqlitePath(config.databaseUrl), began))
    try {
      const made = await backUp(config, path, keep, stop, context)
      context.out(json ? JSON.stringify(backupJson(made)) : `${context.times.stamp(began)} ${backupText(made)}`)
      due = began + every
    } catch (error) {
      if (stop.aborted) return
      if (!(error instanceof AppError) || error.code === storeMoved.code) throw error
      const retry = Math.min(every, RETRY_MILLISECONDS)
      context.err(`${context.times.stamp(began)} teslim backup: ${reasonOf(error)} Trying again in ${retry / 1000} s.`)
      due = context.clock.now() + retry
    }
  }
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  for (let left = milliseconds; left > 0 && !signal.aborted; left -= MAX_TIMER)
    await wait(Math.min(left, MAX_TIMER), undefined, { signal }).catch(() => undefined)
}

/** `teslim-20261121T120000Z.db`: sorts by time. */
const nameAt = (store: string, time: number): string =>
  `${basename(store, '.db')}-${new Date(time).toISOString().replace(/[-:]|\.\d+/g, '')}.db`

/** Under systemd this is the user of the service, who may not look everywhere. */
function requireFolder(folder: string): void {
  try {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return
  } catch (error) {
    throw new Misuse(`${folder} cannot be read: ${(error as Error).message}`)
  }
  throw new Misuse(`there is no folder ${folder}: create it first`)
}

import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import { runCommand } from '../support/processes/command.ts'
import { createStore } from '../support/store/create-store.ts'
import { tempFolder } from '../support/temp-folder.ts'

const BEGAN = Date.UTC(2026, 10, 28)

afterEach(() => void vi.useRealTimers())

/** The longest timer of Node lasts 24.86 days. */
it.each([1, 24, 25, 30, 50, 365])('a schedule of %i days makes a backup as often', async (days) => {
  const cwd = tempFolder()
  await createStore(cwd)
  mkdirSync(join(cwd, 'backups'))
  const made = () => readdirSync(join(cwd, 'backups')).filter((name) => name.endsWith('.db'))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: BEGAN, fakeNodeBuiltins: true })
  const stop = new AbortController()
  const schedule = runCommand(['backup', 'backups', '--every', `${days}d`], { cwd, stop: stop.signal })
  while (made().length < 3) {
    if (vi.getTimerCount() > 0) await vi.advanceTimersToNextTimerAsync()
    await new Promise(setImmediate)
  }
  stop.abort()
  await schedule
  const dates = [0, days, 2 * days].map((passed) => new Date(BEGAN + passed * DAY_MILLISECONDS).toISOString())
  expect(made().toSorted()).toEqual(dates.map((date) => `teslim-${date.slice(0, 10).replaceAll('-', '')}T000000Z.db`))
})

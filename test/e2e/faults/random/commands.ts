import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { receiptsMissingFrom } from '../../../support/processes/ledger.ts'
import { type Outcome, startProcess, teslim } from '../../../support/processes/process.ts'
import { fractions } from '../../../support/random.ts'
import { pace, until } from '../../../support/until.ts'
import type { Judge } from './judge.ts'
import type { Site } from './site.ts'

/** The commands of an operator, as processes of their own. */
export interface Commands {
  /** Runs a command again and again until it succeeds, while a fault is on, and gives what it printed. */
  insist(...args: readonly string[]): Promise<Record<string, string>>
  /** Starts a backup that is killed after so many milliseconds. */
  cutBackup(milliseconds: number): Promise<void>
  /** Commands of a day, one after the other. */
  work(abort: AbortSignal): Promise<void>
}

const PAUSE_MILLISECONDS = 700
const INSIST_MILLISECONDS = 30_000
/** Far longer than any command takes. */
const MAX_MILLISECONDS = 60_000
/** Faults that leave commands alone. */
const HARMLESS = new Set(['wrong keys', 'unread readers', 'lost connections'])

/** What a backup needs beside the log may be more than a small disk has. */
const ROOM = /: make room first\."\}\n$/

export function createCommands(site: Site, judge: Judge): Commands {
  const { where, store } = site
  let backups = 0

  const nextBackup = () => {
    const folder = join(where.cwd, `backup-${backups++}`)
    mkdirSync(folder)
    return { folder, path: join(folder, 'b.db') }
  }

  const run = async (args: readonly string[]): Promise<Outcome> => {
    const began = performance.now()
    const outcome = await teslim([...args, '--json'], where)
    const name = `teslim ${args.join(' ')}`
    const took = performance.now() - began
    if (took > MAX_MILLISECONDS) judge.problem(`${name} took ${Math.round(took)} ms`)
    // A stack, or a signal that nobody sent.
    if (outcome.status === null || /UNEXPECTED_FAULT|\n {4}at /.test(outcome.stderr))
      judge.problem(`${name} ended with ${outcome.status}: ${outcome.stderr}`)
    return outcome
  }

  /** What succeeds unless a fault is on. */
  const expectSuccess = async (args: readonly string[]): Promise<Outcome> => {
    const isQuiet = (): boolean => [...judge.on].every((fault) => HARMLESS.has(fault))
    const before = isQuiet() ? judge.changes() : -1
    const outcome = await run(args)
    if (outcome.status !== 0 && judge.changes() === before && !ROOM.test(outcome.stderr))
      judge.problem(`teslim ${args.join(' ')} ended with ${outcome.status}: ${outcome.stderr}`)
    return outcome
  }

  const addCustomer = async (number: number): Promise<void> => {
    const email = `extra-${number}@example.com`
    const added = await expectSuccess(['customer', 'add', '--email', email, '--generate'])
    if (added.status !== 0) return
    const issued = await expectSuccess(['key', 'issue', '--customer', email])
    if (issued.status === 0) await expectSuccess(['key', 'revoke', JSON.parse(issued.stdout).id])
    await expectSuccess(['customer', 'disable', email])
  }

  const backUp = async (): Promise<void> => {
    const { folder, path } = nextBackup()
    const before = [...judge.acknowledged.keys()]
    const { status } = await expectSuccess(['backup', path])
    if (status !== 0) return rmSync(folder, { recursive: true })
    const missing = receiptsMissingFrom(path, before)
    if (missing.length > 0)
      judge.problem(`LOST: a backup lacks ${missing.length} of ${before.length} deliveries: ${missing[0]}`)
    rmSync(folder, { recursive: true })
  }

  const commands: ((number: number) => Promise<unknown>)[] = [
    addCustomer,
    () => expectSuccess(['delivery', 'list', '--limit', '5']),
    () => expectSuccess(['delivery', 'export', '--from', '5s']),
    () => expectSuccess(['customer', 'list']),
    () => expectSuccess(['webhook', 'list']),
    // Its status says what it found.
    () => run(['doctor']),
    ...(store === 'sqlite' ? [backUp] : []),
  ]

  return {
    async insist(...args) {
      let outcome: Outcome | undefined
      await until(
        `teslim ${args.join(' ')} succeeds`,
        async () => {
          outcome = await run(args)
          return outcome.status === 0
        },
        { milliseconds: INSIST_MILLISECONDS },
      ).catch((error: Error) => {
        throw new Error(`${error.message}\n${outcome?.stderr}`)
      })
      return JSON.parse(outcome?.stdout ?? '')
    },
    async cutBackup(milliseconds) {
      const { folder, path } = nextBackup()
      const child = startProcess(['backup', path], where)
      const { promise: ended, resolve } = Promise.withResolvers<void>()
      child.once('close', () => resolve())
      await pace(milliseconds)
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true })
    },
    async work(abort) {
      const draw = fractions('commands')
      for (let number = 0; !abort.aborted; number++) {
        await commands[Math.floor(draw() * commands.length)]?.(number)
        await pace(PAUSE_MILLISECONDS)
      }
    },
  }
}

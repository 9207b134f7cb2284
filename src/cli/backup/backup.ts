import type { Config } from '#src/config/load-config.ts'
import { withoutUrlPassword } from '#src/config/setting-kinds.ts'
import { shellWord } from '#src/lib/printable.ts'
import { type Command, type Input, Misuse } from '../command.ts'
import { readWhole } from '../input/number.ts'
import { readDuration } from '../input/time.ts'
import { backUp, backupJson, backupText } from './make-backup.ts'
import { keepBackingUp } from './schedule.ts'

const DEFAULT_KEPT = 28
const MAX_KEPT = 10_000

export const backup: Command = {
  name: 'backup',
  about: 'Back up the embedded store, beside a running server',
  details:
    'PATH is a new file, or with --every an existing folder. The backup holds every delivery confirmed before it began. It gets its name once it is complete and checked; its SHA-256 lies beside it.',
  positionals: ['PATH'],
  options: {
    every: {
      value: 'TIME',
      about:
        'Make a backup in the folder PATH at this interval, such as 6h, until told to stop; with --json one line each',
    },
    keep: { value: 'NUMBER', about: `With --every: how many of these backups to keep; ${DEFAULT_KEPT} if not given` },
  },
  async run(input, context) {
    const to = input.word
    const { config } = context.loadConfig()
    refusePostgres(config, to)
    const schedule = readSchedule(input)
    const stop = context.stopSignal()
    context.yieldToServers()
    if (schedule !== undefined) {
      await keepBackingUp({ config, folder: to, ...schedule, json: input.json, stop }, context)
      return undefined
    }
    const made = await backUp(config, to, undefined, stop, context)
    return { json: backupJson(made), text: () => backupText(made) }
  },
}

/** Says what to use instead. The password stays out of the command line. */
function refusePostgres({ databaseUrl }: Config, to: string): void {
  if (databaseUrl.startsWith('sqlite:')) return
  throw new Misuse(
    `the store is in PostgreSQL, which has its own tools: pg_dump --format=custom --file=${shellWord(to)} --dbname=${shellWord(withoutUrlPassword(databaseUrl))} (the password comes from PGPASSWORD or ~/.pgpass)`,
  )
}

function readSchedule(input: Input): { every: number; keep: number } | undefined {
  const every = readDuration(input, 'every', '6h, 30m or 1d')
  const keep = readWhole(input, 'keep', 1, MAX_KEPT)
  if (every !== undefined) return { every, keep: keep ?? DEFAULT_KEPT }
  if (keep !== undefined) throw new Misuse('--keep needs --every')
  return undefined
}

import { maskUrlPassword } from '#src/config/setting-kinds.ts'
import { AppError } from '#src/lib/app-error.ts'
import { findServer } from '#src/store/open-store.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { type CliContext, type Command, type Input, Misuse } from './command.ts'
import { readSecretText } from './input/password.ts'
import { pausedText } from './output/paused.ts'
import { table } from './output/table.ts'

export const copy: Command = {
  name: 'copy',
  about: 'Copy the embedded store into a PostgreSQL database',
  details:
    'Compares both afterwards, and pauses endpoints of webhooks in the copy. Run it again after an interruption, or to copy what was stored since; this works until a server uses the database.',
  options: {
    to: { type: 'string', value: 'URL', about: 'The database: postgres://USER@HOST/NAME' },
    'to-stdin': {
      type: 'boolean',
      about: 'Read the URL from stdin: on the command line other users can see its password',
    },
    'while-serving': {
      type: 'boolean',
      about:
        'Copy although a server uses the store: takes what is stored when the copy begins, so run it again once the server has stopped',
    },
  },
  async run(input, context) {
    const { config } = context.loadConfig()
    const to = await readTarget(input, context)
    if (!config.databaseUrl.startsWith('sqlite:'))
      throw new Misuse('DATABASE_URL must name the embedded store to be copied')
    const server = findServer(config)
    const whileServing = input.flag('while-serving')
    if (server !== undefined && !whileServing)
      throw new AppError(storeErrors.inUse, {
        message: `The store is in use by ${server}. Stop that process first, or copy what is stored now with --while-serving.`,
      })
    // Loaded here because the driver of PostgreSQL would slow down the start of every command.
    const { copyStore } = await import('#src/store/copy/copy-store.ts')
    const { tables, paused, changed } = await copyStore({
      from: config,
      to,
      now: context.clock.now(),
      whileServing,
      onProgress: (name, done, all) =>
        context.progress(`${name}: ${done.toLocaleString('en')} of ${all.toLocaleString('en')}`),
    })
    context.progress('')
    const serving = [server, findServer(config)].some((each) => each !== undefined)
    const complete = !serving && !changed
    if (input.json) {
      context.out(JSON.stringify({ complete, tables, ...(paused > 0 && { endpointsPaused: paused }) }))
      return
    }
    const rows = tables.map(({ name, rows, sha256 }) => [name, `${rows}`, sha256])
    context.out(table(['table', 'rows', 'SHA-256 on both sides'], rows, context.columns))
    const next = complete
      ? `From now on: DATABASE_URL=${maskUrlPassword(to)}`
      : `What was stored after this copy began is missing: ${serving ? 'stop the server, then ' : ''}run this command again.`
    context.out(`\nBoth are equal. ${next}`)
    if (paused > 0) context.out(pausedText(paused, 'the copy'))
  },
}

async function readTarget(input: Input, context: CliContext): Promise<string> {
  const given = input.text('to')
  if ((given !== undefined) === input.flag('to-stdin')) throw new Misuse('name the database with --to or --to-stdin')
  const to = given ?? (await readSecretText('URL', context))
  if (!/^postgres(?:ql)?:\/\/.+/.test(to))
    throw new Misuse(
      `${given === undefined ? 'stdin' : '--to'} must be the URL of a PostgreSQL database: postgres://USER:PASSWORD@HOST/NAME`,
    )
  return to
}

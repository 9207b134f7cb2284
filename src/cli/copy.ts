import type { Config } from '#src/config/load-config.ts'
import { maskUrlPassword } from '#src/config/setting-kinds.ts'
import { AppError } from '#src/lib/app-error.ts'
import { refuseCursorsAfter } from '#src/purchase/cursors.ts'
import { findMoved, findServer, movedText, sqlitePath } from '#src/store/open-store.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { type CliContext, type Command, type Input, Misuse, type Printed } from './command.ts'
import { readSecretText } from './input/password.ts'
import { pausedText } from './output/notes.ts'
import { table } from './output/table.ts'
import { recordAction } from './with-accounts.ts'
import { withStore } from './with-store.ts'

export const copy: Command = {
  name: 'copy',
  about: 'Copy the embedded store into a PostgreSQL database',
  details:
    'Compares both afterwards, and pauses endpoints of webhooks in the copy. Run it again after an interruption, or to copy what was stored since; this works until a server uses the database. A complete copy marks the embedded store as moved, which servers, backups and commands that change something then refuse.',
  options: {
    to: { value: 'URL', about: 'The database: postgres://USER@HOST/NAME' },
    'to-stdin': { about: 'Read the URL from stdin: on the command line other users can see its password' },
    'while-serving': {
      about:
        'Copy although a server uses the store: takes what is stored when the copy begins, so run it again once the server has stopped',
    },
    'take-back': {
      about: 'Instead of --to: use an embedded store again that was moved, without what the database has stored since',
    },
  },
  async run(input, context) {
    const { config } = context.loadConfig()
    if (!config.databaseUrl.startsWith('sqlite:'))
      throw new Misuse('DATABASE_URL must name the embedded store to be copied')
    if (input.flag('take-back')) return takeBack(input, config, context)
    const to = await readTarget(input, context)
    const server = findServer(config)
    const whileServing = input.flag('while-serving')
    if (server !== undefined && !whileServing)
      throw new AppError(storeErrors.inUse, {
        message: `The store is in use by ${server}. Stop that process first, or copy what is stored now with --while-serving.`,
      })
    // Loaded here because the driver of PostgreSQL would slow down the start of every command.
    const { copyStore } = await import('#src/store/copy/copy-store.ts')
    const { tables, paused, changed, moved } = await copyStore({
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
    const text = (): string => {
      const rows = tables.map(({ name, rows, sha256 }) => [name, `${rows}`, sha256])
      const next = complete
        ? `From now on: DATABASE_URL=${maskUrlPassword(to)}`
        : `What was stored after this copy began is missing: ${serving ? 'stop the server, then ' : ''}run this command again.`
      const lines = [
        table(['table', 'rows', 'SHA-256 on both sides'], rows, context.columns),
        `\nBoth are equal. ${next}`,
      ]
      if (moved !== undefined)
        lines.push(
          `${sqlitePath(config.databaseUrl)} is marked as moved: servers, backups and commands that change something refuse it from now on. Stop scheduled backups of it.`,
        )
      else if (complete)
        lines.push(
          'The file is not marked as moved, and can still be used: to move, run this command again without --while-serving.',
        )
      if (paused > 0) lines.push(pausedText(paused, 'the copy'))
      return lines.join('\n')
    }
    return {
      json: { complete, movedTo: moved?.to ?? null, tables, ...(paused > 0 && { endpointsPaused: paused }) },
      text,
    }
  },
}

/** Positions that the database has given since are given again here, so cursors from there would skip deliveries. */
async function takeBack(input: Input, config: Config, context: CliContext): Promise<Printed> {
  const others = ['to', 'to-stdin', 'while-serving'].filter((name) => input.text(name) !== undefined)
  if (others.length > 0) throw new Misuse('--take-back stands alone')
  await withStore(context, 'read', async () => undefined)
  const path = sqlitePath(config.databaseUrl)
  const moved = findMoved(config)
  if (moved === undefined)
    return { json: { takenBackFrom: null }, text: () => `${path} is not marked as moved: nothing was changed.` }
  const { to } = moved
  if (!input.json)
    context.out(
      `${movedText(path, moved)}. It is used again from now on, as it was then: what ${to} has stored or changed since is not in it. Let no server use ${to} any more. Cursors of followers that lie after the move are refused.`,
    )
  const { takeBack } = await import('#src/store/copy/copy-store.ts')
  await takeBack(config, context.clock.now(), async (store) => {
    await store.consoleSessions.endAll()
    await refuseCursorsAfter(await store.deliveries.lastPosition(), store.secrets, context.clock.now())
    await recordAction(store, context)('store.take-back', null, { from: to })
  })
  return { json: { takenBackFrom: to }, text: () => `${path} is taken back.` }
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

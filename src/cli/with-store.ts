import type { Config } from '#src/config/load-config.ts'
import { maskUrlPassword } from '#src/config/setting-kinds.ts'
import { AppError } from '#src/lib/app-error.ts'
import { type OpenedStore, openStore, openToRead, sqlitePath } from '#src/store/open-store.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { Store } from '#src/store/store.ts'
import type { CliContext } from './command.ts'

/** What a command may do: `read` applies no migration, and only `create` makes a store where there is none. */
export type Access = 'read' | 'change' | 'create'

type Work<Result> = (store: Store, config: Config) => Promise<Result>

/** Opens the store for the length of one piece of work. `change` replaces settings. */
export async function withStore<Result>(
  context: CliContext,
  access: Access,
  work: Work<Result>,
  change: Partial<Config> = {},
): Promise<Result> {
  const config = { ...context.loadConfig().config, ...change }
  if (access === 'read') return readStore(config, work)
  const opened = await openStore(config, context.clock.now(), { create: access === 'create', withoutThreads: true })
  sayCreated(opened, config, (text) => context.err(`teslim: ${text}`))
  try {
    return await work(opened.store, config)
  } finally {
    await opened.store.close()
  }
}

/** Tells where a store was created, in case that was the wrong folder. */
export function sayCreated({ created }: OpenedStore, { databaseUrl }: Config, say: (text: string) => void): void {
  const place = databaseUrl.startsWith('sqlite:') ? sqlitePath(databaseUrl) : maskUrlPassword(databaseUrl)
  if (created) say(`created a new store, ${place}`)
}

/** Reads an older schema if it has what the command needs. */
async function readStore<Result>(config: Config, work: Work<Result>): Promise<Result> {
  const { store, pending } = await openToRead(config)
  try {
    return await work(store, config)
  } catch (error) {
    if (pending.length === 0 || error instanceof AppError) throw error
    throw new AppError(storeErrors.older, {
      message: `The store lacks ${pending.join(', ')}, which this command needs: run "teslim migrate".`,
      cause: error,
    })
  } finally {
    await store.close()
  }
}

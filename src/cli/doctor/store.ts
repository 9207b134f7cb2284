import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Config } from '#src/config/load-config.ts'
import { maskUrlPassword } from '#src/config/setting-kinds.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { findServer, type InspectedStore, inspectStore, sqlitePath } from '#src/store/open-store.ts'
import type { Store } from '#src/store/store.ts'
import type { CliContext } from '../command.ts'
import { signingKeyRules } from '../signing-key.ts'
import { accountRules } from '../with-accounts.ts'
import { checkAccounts } from './accounts.ts'
import type { Check } from './checks.ts'
import { checkFacts, checkFuture } from './database.ts'
import { freeBytes } from './files.ts'
import { checkBackup, checkGrowth } from './growth.ts'

/** A file of this size takes some seconds to read. */
const READ_AT_ONCE_BYTES = 512 * 1024 * 1024

/** Checks the store itself. It is opened as it is, and nothing in it is changed. */
export async function checkStore(config: Config, full: boolean, context: CliContext): Promise<Check[]> {
  const url = maskUrlPassword(config.databaseUrl)
  const secret = checkSecretSet(config)
  let size: number | undefined
  let inspected: InspectedStore
  try {
    size = config.databaseUrl.startsWith('sqlite:') ? await sizeOf(sqlitePath(config.databaseUrl)) : 0
    if (size === undefined) {
      const message = `${url} is not there yet: the first start creates it`
      return [{ name: 'store', status: 'warning', message }, ...secret]
    }
    inspected = await inspectStore(config)
  } catch (error) {
    return [{ name: 'store', status: 'failed', message: messageOf(error) }, ...secret]
  }
  const { store, pending } = inspected
  const found: Check[] = []
  try {
    found.push(...(await checkDamage(inspected, size, full)))
    if (pending.length > 0) {
      const message = `${url} lacks ${pending.join(', ')}: run teslim migrate (or the next start applies them), then teslim doctor again`
      return [{ name: 'store', status: 'warning', message }, ...found, ...secret]
    }
    found.push(...checkServer(config), ...(await checkDatabase(inspected, config, context.clock)))
    return [
      { name: 'store', status: 'ok', message: `${url} answers and is at the schema of this version` },
      ...found,
      ...secret,
      await checkSigningKeys(store, config, context),
      ...(await checkAccounts(accountRules(store, context), config)),
    ]
  } catch (error) {
    return [{ name: 'store', status: 'failed', message: messageOf(error) }, ...found, ...secret]
  } finally {
    await store.close()
  }
}

/** Checks what can run out, drift or grow old: clock, room, connections, partitions, locks, backup. */
async function checkDatabase({ store, facts }: InspectedStore, config: Config, clock: Clock): Promise<Check[]> {
  const asked = clock.now()
  const found = await facts()
  // The answer was on its way for about half of the time.
  const checks = checkFacts(found, config, (asked + clock.now()) / 2)
  if (!config.databaseUrl.startsWith('sqlite:')) return [...checks, ...NOT_FROM_HERE]
  const free = await freeBytes(dirname(sqlitePath(config.databaseUrl)))
  const growth = free === undefined ? [] : await checkGrowth(store, free, asked)
  return [...checks, ...(await checkFuture(store, asked)), ...growth, await checkBackup(store, config, asked)]
}

const NOT_FROM_HERE = ['disk', 'integrity', 'growth', 'backup'].map(
  (name): Check => ({ name, status: 'skipped', message: 'not looked at: see to it where PostgreSQL runs' }),
)

/** The size; undefined where there is no file, 0 for any other error, which opening it will show. */
const sizeOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ size }) => size,
    ({ code }: NodeJS.ErrnoException) => (code === 'ENOENT' ? undefined : 0),
  )

function messageOf(error: unknown): string {
  if (!(error instanceof AppError)) throw error
  return error.details.reason ?? error.message
}

async function checkDamage({ findDamage }: InspectedStore, size: number, full: boolean): Promise<Check[]> {
  if (size === 0) return []
  const name = 'integrity'
  if (size > READ_AT_ONCE_BYTES && !full) {
    const gibibytes = (size / 1024 ** 3).toFixed(1)
    return [
      {
        name,
        status: 'skipped',
        message: `not checked, since the file has ${gibibytes} GiB: run teslim doctor --full`,
      },
    ]
  }
  const damage = await findDamage()
  if (damage === undefined) return [{ name, status: 'ok', message: 'the file is undamaged' }]
  // SQLite describes it in several lines.
  const found = damage.replaceAll('\n', ' ')
  return [{ name, status: 'failed', message: `the file is damaged, restore a backup: ${found}` }]
}

function checkServer(config: Config): Check[] {
  if (!config.databaseUrl.startsWith('sqlite:')) return []
  const server = findServer(config)
  return [
    {
      name: 'server',
      status: 'ok',
      message: server === undefined ? 'no server uses the file' : `${server} uses the file`,
    },
  ]
}

function checkSecretSet({ secret }: Config): Check[] {
  if (secret !== '') return []
  const message =
    'TESLIM_SECRET is not set, so signing keys are stored unencrypted: set it, restart, then run teslim signing-key rewrap'
  return [{ name: 'secret', status: 'warning', message }]
}

async function checkSigningKeys(store: Store, config: Config, context: CliContext): Promise<Check> {
  const name = 'signing keys'
  try {
    const wrappings = await (await signingKeyRules(store, config, context)).wrappings()
    if (wrappings.length === 0) return { name, status: 'ok', message: 'none yet: the first login makes one' }
    const other = wrappings.filter((wrapping) => wrapping !== 'secret').length
    if (config.secret === '' || other === 0) {
      const how = config.secret === '' ? 'unencrypted' : 'encrypted under TESLIM_SECRET'
      return { name, status: 'ok', message: `${wrappings.length}, ${how}` }
    }
    const message = `${other} of ${wrappings.length} not encrypted under TESLIM_SECRET: run teslim signing-key rewrap`
    return { name, status: 'warning', message }
  } catch (error) {
    return { name, status: 'failed', message: messageOf(error) }
  }
}

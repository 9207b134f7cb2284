import { stat } from 'node:fs/promises'
import { NO_REQUEST, whyNotRecorded } from '#src/audit/actions.ts'
import type { Config } from '#src/config/load-config.ts'
import { maskUrlPassword } from '#src/config/setting-kinds.ts'
import { createApiKeys } from '#src/customer/api-key.rule.ts'
import { createCustomers } from '#src/customer/customer.rule.ts'
import { createSilence } from '#src/customer/silence/silence.rule.ts'
import { AppError, whyFailed } from '#src/lib/app-error.ts'
import { message, type Text } from '#src/lib/messages/message.ts'
import { printable } from '#src/lib/printable.ts'
import {
  findServer,
  type InspectedStore,
  inspectStore,
  missing,
  refuseMoved,
  sqlitePath,
  unverifiedHosts,
} from '#src/store/open-store.ts'
import type { Store } from '#src/store/store.ts'
import { signingKeyRules } from '#src/token/open-signing-keys.ts'
import { type Accounts, checkAccounts } from './accounts.ts'
import { type Check, type ExaminationOptions, failed, ok, skipped, warning } from './checks.ts'
import { checkFacts, checkFuture, checkHistory } from './database.ts'
import { checkBackups, checkGrowth, checkLog } from './growth.ts'
import { checkHeldBack, checkWebhooks } from './webhooks.ts'

const MIB = 1024 * 1024
/** Larger files are not checked for damage. One of 512 MiB takes some seconds to read, one of 32 MiB a moment. */
const MAX_BYTES = { quick: 32 * MIB, usual: 512 * MIB, full: Number.POSITIVE_INFINITY }

/** Checks the store itself. It is opened as it is, and nothing in it is changed. */
export async function checkStore(config: Config, options: ExaminationOptions): Promise<Check[]> {
  const { onBegin } = options
  onBegin?.('store')
  const url = maskUrlPassword(config.databaseUrl)
  const secret = checkSecretSet(config)
  let size: number | undefined
  let inspected: InspectedStore
  try {
    size = config.databaseUrl.startsWith('sqlite:') ? await sizeOf(sqlitePath(config.databaseUrl)) : 0
    if (size === undefined) return [missingStore(config), ...secret]
    inspected = await inspectStore(config)
  } catch (error) {
    return [storeFailed(error), ...secret]
  }
  const { store, pending, empty } = inspected
  const found: Check[] = []
  try {
    if (empty) return [missingStore(config), ...secret]
    refuseMoved(config)
    found.push(...(await checkDamage(inspected, size, options)))
    if (pending.length > 0)
      return [warning('store', 'STORE_PENDING', { url, migrations: pending }), ...found, ...secret]
    await store.tryStatements()
    found.push(...checkServer(config), ...(await checkDatabase(inspected, config, options)))
    onBegin?.('signing keys')
    const signingKeys = await checkSigningKeys(store, config, options)
    onBegin?.('customers')
    return [
      ok('store', 'STORE_SOUND', { url }),
      ...found,
      ...secret,
      signingKeys,
      ...(await checkAccounts(accountsOf(store, config, options), config)),
      ...(await checkWebhooks(store, config, options)),
      ...(await checkHeldBack(store, config)),
    ]
  } catch (error) {
    // A database that is unfit fails in ways that only confuse.
    const isUnfit = found.some(({ name, status }) => name === 'database' && status === 'failed')
    return [...(isUnfit ? [] : [storeFailed(error)]), ...found, ...secret]
  } finally {
    await store.close()
  }
}

/** Only outside production a server makes its store. */
function missingStore(config: Config): Check {
  if (config.environment === 'production') return storeFailed(missing(config))
  return warning('store', 'STORE_NOT_YET', { url: maskUrlPassword(config.databaseUrl) })
}

const storeFailed = (error: unknown): Check => failed('store', 'STORE_FAILED', { reason: reasonIn(error) })

/** Checks what can run out, drift or grow old: clock, room, connections, partitions, locks, backup. */
async function checkDatabase(
  { store, facts }: InspectedStore,
  config: Config,
  { clock, onBegin }: ExaminationOptions,
): Promise<Check[]> {
  onBegin?.('database')
  const asked = clock.now()
  const found = await facts()
  // The answer was on its way for about half of the time.
  const hosts = await unverifiedHosts(config)
  const checks = hosts.length === 0 ? [] : [warning('network', 'DATABASE_UNVERIFIED', { hosts })]
  checks.push(...checkFacts(found, config, (asked + clock.now()) / 2))
  if (!config.databaseUrl.startsWith('sqlite:'))
    return [
      ...checks,
      ...(found.unfit === null ? await checkAudit(store, asked) : []),
      ...(await checkHistory(store, asked)),
      ...NOT_FROM_HERE,
    ]
  const room = await store.diskUse().catch(() => undefined)
  onBegin?.('growth')
  const growth = room?.free === undefined ? [] : await checkGrowth(store, room.free, asked)
  const future = await checkFuture(store, asked)
  return [
    ...checks,
    ...future,
    ...(room === undefined ? [] : checkLog(room)),
    ...growth,
    ...(await checkBackups(store, config, asked)),
  ]
}

/** A file is opened to read only; its schema tells whether something refuses events. */
const checkAudit = ({ audit }: Store, now: number): Promise<Check[]> =>
  audit.prove([{ ...NO_REQUEST, at: now, actor: 'doctor', action: 'trial', customerId: null, details: {} }]).then(
    () => [],
    (error: unknown) => [failed('audit log', 'AUDIT_NOT_WRITABLE', { reason: whyNotRecorded(error) })],
  )

const NOT_FROM_HERE = ['disk', 'integrity', 'growth', 'backup'].map((name) => skipped(name, 'NOT_FROM_HERE'))

/** The size; undefined where there is no file, 0 for any other error, which opening it will show. */
const sizeOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ size }) => size,
    ({ code }: NodeJS.ErrnoException) => (code === 'ENOENT' ? undefined : 0),
  )

function reasonIn(error: unknown): Text {
  if (!(error instanceof AppError)) throw error
  return whyFailed(error)
}

async function checkDamage(
  { findDamage }: InspectedStore,
  size: number,
  { depth, onBegin }: ExaminationOptions,
): Promise<Check[]> {
  if (size === 0) return []
  const name = 'integrity'
  const isLarge = size > MAX_BYTES[depth]
  if (!isLarge) onBegin?.(name)
  const damage = await findDamage(isLarge ? 'schema' : 'pages')
  if (damage !== undefined) {
    // SQLite describes it in several lines.
    return [failed(name, 'FILE_DAMAGED', { found: printable(damage.replaceAll('\n', ' ')) })]
  }
  if (!isLarge) return [ok(name, 'FILE_UNDAMAGED')]
  const command = size > MAX_BYTES.usual ? 'teslim doctor --full' : 'teslim doctor'
  return [skipped(name, 'FILE_NOT_CHECKED', { size, command })]
}

function checkServer(config: Config): Check[] {
  if (!config.databaseUrl.startsWith('sqlite:')) return []
  const server = findServer(config)
  return [
    server === undefined ? ok('server', 'SERVER_NONE') : ok('server', 'SERVER_RUNS', { server: processIn(server) }),
  ]
}

/** What a server wrote about itself, so that each reader gets it in another language and zone. Other programs have a text of their own. */
function processIn(holder: string): Text {
  const [, pid, host, since] = /^process (\d+) on (\S+), since (\S+)$/.exec(holder) ?? []
  return pid && host && since ? message('PROCESS_SINCE', { pid, host, since }) : holder
}

function checkSecretSet({ secret }: Config): Check[] {
  return secret === '' ? [warning('secret', 'SECRET_NOT_SET')] : []
}

/** What the checks read. They never add a customer. */
function accountsOf(store: Store, config: Config, { clock, random }: ExaminationOptions): Accounts {
  const hashPassword = (): Promise<string> => Promise.reject(new Error('a check changes nothing'))
  const customers = createCustomers({ store, clock, random, hashPassword })
  const apiKeys = createApiKeys({ store, customers, clock, random })
  return { customers, apiKeys, silence: createSilence(store, config, clock), clock }
}

async function checkSigningKeys(store: Store, config: Config, options: ExaminationOptions): Promise<Check> {
  const name = 'signing keys'
  try {
    const wrappings = await (await signingKeyRules(store, config, options)).wrappings()
    const count = wrappings.length
    if (count === 0) return ok(name, 'SIGNING_KEYS_NONE')
    if (config.secret === '') return ok(name, 'SIGNING_KEYS_OPEN', { count })
    const other = wrappings.filter((wrapping) => wrapping !== 'secret').length
    if (other === 0) return ok(name, 'SIGNING_KEYS_SEALED', { count })
    return warning(name, 'SIGNING_KEYS_TO_REWRAP', { other, count })
  } catch (error) {
    return failed(name, 'SIGNING_KEYS_FAILED', { reason: reasonIn(error) })
  }
}

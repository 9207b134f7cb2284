import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { readUuid } from '#src/lib/random.ts'
import { asciiLowerCase } from '#src/lib/text.ts'
import type { Customer, CustomerFilter, KeySummary, Store } from '#src/store/store.ts'
import { type ApiKeyView, SOON_MILLISECONDS, toView } from '../api-key.rule.ts'
import { customerErrors } from '../customer.errors.ts'
import { isRemoved } from '../customer.rule.ts'
import { isOperator, rightsOf, SCOPES } from '../rights.ts'
import { SANDBOX_EMAIL } from '../sandbox.ts'
import type { Silence } from '../silence/silence.rule.ts'

export const ROLES = ['api', 'operator', 'readOnly', 'support', 'feed', 'supplier', 'removed'] as const
type Role = (typeof ROLES)[number]

export const WARNINGS = [
  'NO_RULES',
  'NO_KEY',
  'KEY_EXPIRES_SOON',
  'KEY_EXPIRED_NOT_REPLACED',
  'SANDBOX',
  'NO_REGION',
  'SILENT',
] as const
export type Warning = (typeof WARNINGS)[number]

interface DirectoryQuery {
  /** Part of the e-mail address, or the prefix of the id; ASCII case-insensitive. */
  readonly search?: string | undefined
  readonly role?: Role | undefined
  readonly enabled?: boolean | undefined
  readonly limit: number
  /** The id of the customer after which to continue. */
  readonly cursor?: string | undefined
}

/** A customer with what is known of its keys, and what somebody should look after. */
export interface Described {
  readonly customer: Customer
  readonly keys: Pick<KeySummary, 'live' | 'expiring' | 'expired'>
  readonly lastUsedAt: number | null
  /** Since when it has been silent; null if it is not. */
  readonly silentSince: number | null
  readonly warnings: readonly Warning[]
}

export type Directory = ReturnType<typeof createDirectory>

/** Customers that one query with a filter scans: other reads wait for no more than this. */
const SCANNED_AT_ONCE = 10_000
/** Customers that one request with a filter scans. */
const MAX_SCANNED = 100_000
const KEYS_AT_ONCE = 500

const FILTERS: Readonly<Record<Role, CustomerFilter>> = {
  api: { isApi: true },
  operator: { scopes: SCOPES.filter((scope) => isOperator(rightsOf({ scope, payloads: false }))) },
  readOnly: { scopes: ['operator:read'] },
  support: { scopes: ['operator:support'] },
  feed: { scopes: ['feed'] },
  supplier: { isApi: false, scopes: ['customer'], removed: false },
  removed: { removed: true },
}

/** Shows operators the customers and their keys. In production the sandbox customer should not be there. */
export function createDirectory(
  store: Pick<Store, 'customers' | 'apiKeys'>,
  silence: Silence,
  clock: Clock,
  inProduction: boolean,
) {
  const describe = async (customers: readonly Customer[]): Promise<Described[]> => {
    const now = clock.now()
    const ids = customers.map(({ id }) => id)
    const times = { now, soon: now + SOON_MILLISECONDS }
    const found = ids.length === 0 ? [] : await store.apiKeys.summaries(ids, times)
    const silent = await silence.among(ids)
    const summaries = new Map(found.map((summary) => [summary.customerId, summary]))
    return customers.map((customer) => {
      const { live = 0, expiring = 0, expired = 0, lastUsedAt = null } = summaries.get(customer.id) ?? {}
      const keys = { live, expiring, expired }
      const silentSince = silent.get(customer.id)?.since ?? null
      const warnings = warningsOf(customer, keys, inProduction, silentSince !== null)
      return { customer, keys, lastUsedAt, silentSince, warnings }
    })
  }

  const walk = async (filter: CustomerFilter, afterId: string, limit: number, scan: number) => {
    const found: Customer[] = []
    for (let after = afterId, scanned = scan; ; scanned += scan) {
      const { customers, next } = await store.customers.search(filter, after, {
        limit: limit - found.length,
        scan,
      })
      found.push(...customers)
      if (next === null || found.length === limit || scanned >= MAX_SCANNED) return { found, next }
      after = next
    }
  }

  const keysOf = async (customerId: string): Promise<ApiKeyView[]> => {
    const all: ApiKeyView[] = []
    for (let afterId: string | undefined; ; ) {
      const page = await store.apiKeys.page(customerId, { afterId, limit: KEYS_AT_ONCE })
      all.push(...page.map((key) => toView(key, clock.now())))
      if (page.length < KEYS_AT_ONCE) return all
      afterId = page.at(-1)?.id
    }
  }

  const show = async (id: string): Promise<Described> => {
    const known = readUuid(id)
    const customer = known === undefined ? undefined : await store.customers.findById(known)
    const [described] = customer === undefined ? [] : await describe([customer])
    if (described === undefined) throw new AppError(customerErrors.notFound)
    return described
  }

  return {
    /** Lists the oldest first. A page may be short, or empty, before the end. */
    async list({ search, role, enabled, limit, cursor }: DirectoryQuery) {
      const text = search === undefined ? undefined : asciiLowerCase(search)
      // A database cannot search for NUL, and no address has one.
      if (text?.includes('\0')) return { customers: [], nextCursor: null }
      const filter = { text, enabled, ...(role && FILTERS[role]) }
      const isFiltered = Object.values(filter).some((value) => value !== undefined)
      // One more than asked for tells whether there are more.
      const { found, next } = await walk(filter, cursor ?? '', limit + 1, isFiltered ? SCANNED_AT_ONCE : limit + 1)
      const shown = found.slice(0, limit)
      const nextCursor = found.length > limit ? (shown.at(-1)?.id ?? null) : next
      return { customers: await describe(shown), nextCursor }
    },

    /** Finds those of these customers that there are. */
    async listOf(ids: readonly string[]): Promise<Described[]> {
      const known = ids.map(readUuid).filter((id) => id !== undefined)
      return describe(await store.customers.findMany(known))
    },

    show,

    async showWithKeys(id: string): Promise<{ described: Described; keys: readonly ApiKeyView[] }> {
      const described = await show(id)
      return { described, keys: await keysOf(described.customer.id) }
    },
  }
}

/** Nobody needs to look after a customer that is disabled. */
function warningsOf(customer: Customer, keys: Described['keys'], inProduction: boolean, isSilent: boolean): Warning[] {
  const { email, isApi, scope, enabled, regions, authority } = customer
  if (!enabled || isRemoved(customer)) return []
  const applies: Record<Warning, boolean> = {
    // Others need not deliver.
    NO_RULES: authority.length === 0 && (scope === 'customer' || keys.live > 0),
    NO_KEY: keys.live === 0 && (scope === 'customer' || authority.length > 0),
    KEY_EXPIRES_SOON: keys.expiring > 0,
    KEY_EXPIRED_NOT_REPLACED: keys.expired > 0,
    SANDBOX: inProduction && email === SANDBOX_EMAIL,
    NO_REGION: isApi && regions.length === 0,
    SILENT: isSilent,
  }
  return WARNINGS.filter((warning) => applies[warning])
}

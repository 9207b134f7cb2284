import { isRemoved } from '#src/customer/customer.rule.ts'
import { allCustomers } from '#src/customer/find-customer.ts'
import { isOperator, keepsRights, type Role, rightsOf } from '#src/customer/rights.ts'
import { roleWords } from '#src/customer/roles.ts'
import type { ApiKey, Customer, SigningKey, Store, Webhook } from '#src/store/store.ts'
import { headerNames, isOtherOrigin } from '#src/webhook/headers.ts'
import type { Times } from '../output/times.ts'
import { customersUnerased, erasuresUndone } from './erasures-undone.ts'
import { limitsUndone } from './limits-undone.ts'
import { typed, type Undone } from './undone-row.ts'

/** What a restore undoes that matters for safety, and what is no longer there. */
export interface Comparison {
  readonly undone: readonly Undone[]
  /** E-mail addresses of customers and ids of API keys that are in the replaced store only. */
  readonly missingCustomers: readonly string[]
  readonly missingKeys: readonly string[]
  /** Actions of operators since the backup, in the audit log of the replaced store. */
  readonly actions: number
}

const MAX_EVENTS = 100_000

/** Compares the store as it was with the one that is to replace it, whose last change was at `since`. */
export async function compareStores(
  was: Store,
  willBe: Store,
  since: number,
  now: number,
  times: Times,
): Promise<Comparison> {
  const customers = await pairs(was, willBe, ({ customers }) => allCustomers(customers))
  const keys = await pairs(was, willBe, (store) => store.apiKeys.list())
  const signingKeys = await pairs(was, willBe, async (store) =>
    (await store.signingKeys.list()).map((key) => ({ ...key, id: key.kid })),
  )
  const endpoints = await pairs(was, willBe, ({ webhooks }) => webhooks.list().catch(() => []))
  const emails = new Map(customers.both.map(([, after]) => [after.id, after.email]))
  const removed = new Set(customers.both.filter(([before]) => isRemoved(before)).map(([{ id }]) => id))
  const events = await was.audit.list({ from: since + 1, limit: MAX_EVENTS })
  const erased = await customersUnerased(was, willBe, since)
  return {
    undone: [
      ...keys.both
        .filter(([{ customerId }]) => !removed.has(customerId))
        .flatMap(([before, after]) => keyUndone(before, after, emails.get(after.customerId), now, times)),
      ...customers.both.flatMap(([before, after]) =>
        isRemoved(before)
          ? removalUndone(after, erased.has(after.id))
          : isRemoved(after)
            ? []
            : customerUndone(before, after),
      ),
      // One that was removed can do nothing.
      ...customers.onlyAfter
        .filter((customer) => !isRemoved(customer))
        .map(
          (customer): Undone => [
            `customer ${customer.email}`,
            'was not in the replaced store',
            typed('customer disable', who(customer)),
          ],
        ),
      ...signingKeys.both
        .filter(([before, after]) => isLive(after, now) && !isLive(before, now))
        .map(([, after]) => signingKeyUndone(after)),
      ...signingKeys.onlyAfter.filter((key) => isLive(key, now)).map(signingKeyUndone),
      ...endpoints.both.flatMap(([before, after]) => endpointUndone(before, after)),
      ...endpoints.onlyAfter.map(
        ({ id, url }): Undone => [
          `endpoint ${id} (${url})`,
          'is not in the replaced store, and is there again, paused',
          typed('webhook remove', id),
        ],
      ),
      ...(await erasuresUndone(was, willBe, since)),
    ],
    missingCustomers: customers.onlyBefore.filter((customer) => !isRemoved(customer)).map(({ email }) => email),
    missingKeys: keys.onlyBefore.map(({ id }) => id),
    actions: events.filter(({ action }) => !action.endsWith('.refused')).length,
  }
}

async function pairs<Row extends { readonly id: string }>(
  was: Store,
  willBe: Store,
  list: (store: Store) => Promise<Row[]>,
) {
  const before = new Map((await list(was)).map((row) => [row.id, row]))
  const after = await list(willBe)
  const there = new Set(after.map(({ id }) => id))
  return {
    both: after.flatMap((row) => {
      const other = before.get(row.id)
      return other === undefined ? [] : [[other, row] as const]
    }),
    onlyBefore: [...before.values()].filter(({ id }) => !there.has(id)),
    onlyAfter: after.filter(({ id }) => !before.has(id)),
  }
}

const isLive = ({ expiresAt }: Pick<ApiKey | SigningKey, 'expiresAt'>, now: number): boolean =>
  expiresAt === null || expiresAt > now

function keyUndone(before: ApiKey, after: ApiKey, email: string | undefined, now: number, times: Times): Undone[] {
  if (after.revokedAt !== null || !isLive(after, now)) return []
  const name = `API key ${after.id}${after.label === '' ? '' : ` (${after.label})`} of ${email}`
  const repeat = typed('key revoke', after.id)
  if (before.revokedAt !== null) return [[name, 'was revoked, and works again', repeat]]
  if (before.successorId !== null && after.successorId === null)
    return [[name, 'was replaced, and works again', repeat]]
  if (!isLive(before, now)) return [[name, 'had expired, and works again', repeat]]
  return limitsUndone(before, after, now, times).map(([happened, options]) => [
    name,
    happened,
    typed('key set', after.id, ...options),
  ])
}

/** What to call a customer in a command: an address may look like an option, or hide characters. */
const who = ({ id, email }: Customer): string => (/^-|\p{C}/u.test(email) ? id : email)

/** A removed customer has nothing else that could be undone. */
function removalUndone(after: Customer, erased: boolean): Undone[] {
  const { id, email } = after
  const repeat = typed('customer remove', isRemoved(after) ? id : who(after), ...(erased ? ['--erase'] : []))
  if (!isRemoved(after))
    return [[`customer ${email}`, `was removed${erased ? ' and erased' : ''}, and is there again`, repeat]]
  return erased ? [[`customer ${id}`, 'was erased, and has its payloads again', repeat]] : []
}

function customerUndone(before: Customer, after: Customer): Undone[] {
  const { email } = after
  const name = `customer ${email}`
  const set = (...options: string[]): string => typed('customer set', who(after), ...options)
  const found: Undone[] = []
  const tokens = before.tokenGeneration !== after.tokenGeneration
  const disabled = !before.enabled && after.enabled
  const regions = after.regions.filter((region) => !before.regions.includes(region))
  const api = !before.isApi && after.isApi
  const role = after.scope !== 'customer' && !keepsRights(after, before)
  // A login may replace the hash, too, but does not end tokens.
  const password = tokens && before.passwordHash !== after.passwordHash
  if (disabled) found.push([name, 'was disabled, and is enabled again', typed('customer disable', who(after))])
  if (password)
    found.push([name, 'has its former password again', typed('customer set-password', who(after), '--generate')])
  // The command for each of the others ends tokens, too.
  if (tokens && !disabled && !password && !api && !role && regions.length === 0)
    found.push([name, 'has revoked tokens that are valid again', typed('token revoke', '--customer', who(after))])
  if (api) found.push([name, 'may log in to the API again', set('--api', 'no')])
  if (role) found.push([name, `has the rights of "${roleWords(after)}" again`, set(...roleOptions(after, before))])
  if (regions.length > 0) {
    const kept = before.regions.flatMap((region) => ['--region', region])
    found.push([name, `may log in to ${regions.join(', ')} again`, set(...kept)])
  }
  const rules = after.authority.filter((rule) => !before.authority.includes(rule))
  if (rules.length > 0)
    found.push([
      name,
      `may deliver ${rules.join(', ')} again`,
      typed('customer disallow', who(after), ...(rules.some((rule) => rule.startsWith('-')) ? ['--'] : []), ...rules),
    ])
  // The last one, as the commands above name the former address.
  if (before.email !== email) {
    const option = before.email.startsWith('-') ? [`--email=${before.email}`] : ['--email', before.email]
    found.push([name, `has this address again instead of ${before.email}`, set(...option)])
  }
  return found
}

/** What makes one role of another. */
function roleOptions(from: Role, to: Role): string[] {
  const operates = isOperator(rightsOf(from))
  if (to.scope === 'feed') return ['--feed', 'yes']
  if (to.scope === 'customer') return [operates ? '--operator' : '--feed', 'no']
  const kind = {
    operator: [],
    'operator:read': ['--read-only', 'yes'],
    'operator:support': ['--support', 'yes', '--payloads', to.payloads ? 'yes' : 'no'],
  }[to.scope]
  return [...(operates ? [] : ['--operator', 'yes']), ...kind]
}

/** A rewrap changes what is stored, too, but neither the secret nor headers. */
function endpointUndone(before: Webhook, after: Webhook): Undone[] {
  const { id, url } = after
  const name = `endpoint ${id} (${url})`
  const set = (...options: string[]): string => typed('webhook set', id, ...options)
  const found: Undone[] = []
  if (before.secret !== after.secret)
    found.push([name, 'may have its former secret again', typed('webhook rotate-secret', id)])
  const names = headerNames(before.headers)
  const headers = headerNames(after.headers).flatMap((header) =>
    names.includes(header) ? ['--secret-header', header] : ['--header', `${header}:`],
  )
  const isElsewhere = isOtherOrigin(before.url, url)
  if (before.url !== url)
    found.push([
      name,
      `has this URL again instead of ${before.url}`,
      // Headers do not go along to another host.
      set('--url', before.url, ...(isElsewhere ? headers : [])),
    ])
  if (headers.length > 0 && before.headers !== after.headers && !isElsewhere)
    found.push([name, 'may have former headers again', set(...headers)])
  if (before.ca !== after.ca)
    found.push([
      name,
      'trusts its former certificate authorities again',
      set('--ca', before.ca === null ? 'none' : 'FILE'),
    ])
  const filter = filterOptions(before)
  if (filter.join() !== filterOptions(after).join()) found.push([name, 'has its former filter again', set(...filter)])
  return found
}

const filterOptions = ({ customerId, statuses, duplicates }: Webhook): string[] => [
  ...['--customer', customerId ?? 'none'],
  ...['--status', statuses?.join() ?? 'none'],
  duplicates ? '--duplicates' : '--no-duplicates',
]

const signingKeyUndone = ({ kid }: SigningKey): Undone => [
  `signing key ${kid}`,
  'was replaced, and its tokens are valid again',
  'teslim signing-key rotate --at-once',
]

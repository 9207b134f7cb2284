import type { ApiKeyView } from '#src/customer/api-key.rule.ts'
import { isoMilliseconds, isoOrNull } from '#src/lib/clock.ts'
import { displayName } from '#src/lib/display-name.ts'
import { DAY_MILLISECONDS, HOUR_MILLISECONDS } from '#src/lib/duration.ts'
import { counted } from '#src/lib/printable.ts'
import type { Customer } from '#src/store/store.ts'
import type { Command } from '../command.ts'
import { readDuration, readLifetime } from '../input/time.ts'
import { table } from '../output/table.ts'
import type { Times } from '../output/times.ts'
import { withAccounts } from '../with-accounts.ts'
import { limitOptions, readLimits } from './limits.ts'

export const keyList: Command = {
  name: 'key list',
  about: 'List API keys, oldest first, with last use, expiry and limits',
  options: { customer: { value: 'CUSTOMER', about: 'Only keys of this customer: e-mail address or id' } },
  async run(input, context) {
    const { times, clock, columns } = context
    const { keys, owners } = await withAccounts(context, 'read', async ({ apiKeys }, { customers }) => {
      const keys = await apiKeys.list(input.text('customer'))
      const owners = await customers.findMany([...new Set(keys.map(({ customerId }) => customerId))])
      return { keys, owners: new Map(owners.map((one) => [one.id, one])) }
    })
    return {
      json: keys.map((key) => ({ ...keyJson(key), customer: owners.get(key.customerId)?.email ?? '' })),
      text() {
        if (keys.length === 0) return 'There are no API keys yet: see teslim key issue --help.'
        const [expires, used] = [times.heading('expires'), times.heading('last used')]
        const rows = keys.map((key) => {
          const owner = owners.get(key.customerId)
          return [
            key.id,
            owner === undefined ? '' : displayName(owner),
            key.label,
            stateText(key, owner, clock.now()),
            timeOrNever(key.expiresAt, times),
            timeOrNever(key.lastUse?.usedAt ?? null, times),
            key.lastUse?.address ?? '',
            limitsOf(key).join('; '),
          ]
        })
        return table(['id', 'customer', 'label', 'state', expires, used, 'last address', 'limits'], rows, columns)
      },
    }
  },
}

export const keyIssue: Command = {
  name: 'key issue',
  about: 'Issue an API key; it is shown once',
  options: {
    customer: { value: 'CUSTOMER', required: true, about: 'The customer: e-mail address or id' },
    label: { value: 'TEXT', about: 'What the key is for' },
    expires: { value: 'TIME', about: 'How long it is valid, such as 90d, 24h or 30m; forever if not given' },
    ...limitOptions,
  },
  async run(input, context) {
    const lifetime = readLifetime(input)
    const limits = readLimits(input)
    const { view, key } = await withAccounts(context, 'change', ({ apiKeys }) =>
      apiKeys.issue(input.text('customer') ?? '', input.text('label') ?? '', lifetime, limits),
    )
    const { id, ...rest } = keyJson(view)
    return {
      json: { id, key, ...rest },
      text: () => `${key}\n  shown once; ${validity(view, context.times)}; to revoke it: teslim key revoke ${id}`,
    }
  },
}

const DEFAULT_OVERLAP_HOURS = 24

export const keyRotate: Command = {
  name: 'key rotate',
  about: 'Replace an API key with a new one; both work for a while',
  details: 'The new key is shown once. It has the label, the limits and the lifetime of the old one.',
  positionals: ['KEYID'],
  options: {
    overlap: {
      value: 'TIME',
      about: `How long the old key still works, such as 24h or 30m; 0 ends it within a second; ${DEFAULT_OVERLAP_HOURS}h if not given`,
    },
    expires: { value: 'TIME', about: 'How long the new key is valid; the lifetime of the old one if not given' },
  },
  async run(input, context) {
    const { times } = context
    const lifetimeMilliseconds = readLifetime(input)
    const overlapMilliseconds =
      readDuration(input, 'overlap', '24h, 30m or 0', true) ?? DEFAULT_OVERLAP_HOURS * HOUR_MILLISECONDS
    const { view, key, replaced } = await withAccounts(context, 'change', async ({ apiKeys, keyIdOf }) =>
      apiKeys.rotate(await keyIdOf(input.word), { overlapMilliseconds, lifetimeMilliseconds }),
    )
    const { id, ...rest } = keyJson(view)
    const old = keyJson(replaced)
    const end = old.state === 'live' ? `works ${untilText(replaced, times)}` : 'stops working within a second'
    return {
      json: { id, key, ...rest, replaces: { id: old.id, state: old.state, expiresAt: old.expiresAt } },
      text: () => `${key}\n  shown once; ${validity(view, times)}; its id is ${id}\n  the old key, ${old.id}, ${end}`,
    }
  },
}

export const keyRevoke: Command = {
  name: 'key revoke',
  about: 'Revoke an API key; it stops working within a second',
  positionals: ['KEYID'],
  async run({ word }, context) {
    const key = await withAccounts(context, 'change', async ({ apiKeys, keyIdOf }) =>
      apiKeys.revoke(await keyIdOf(word)),
    )
    return { json: keyJson(key), text: () => `${key.id} is revoked; it stops working within a second.` }
  },
}

export const timeOrNever = (milliseconds: number | null, times: Times): string =>
  milliseconds === null ? 'never' : times.text(milliseconds)

export const keyJson = (key: ApiKeyView) => ({
  id: key.id,
  customerId: key.customerId,
  label: key.label,
  state: key.state,
  createdAt: isoMilliseconds(key.createdAt),
  expiresAt: isoOrNull(key.expiresAt),
  expiresSoon: key.expiresSoon,
  revokedAt: isoOrNull(key.revokedAt),
  successorId: key.successorId,
  lastUsedAt: isoOrNull(key.lastUse?.usedAt ?? null),
  lastUsedFrom: key.lastUse?.address ?? null,
  networks: key.networks,
  rateLimit: key.rateLimit,
})

export function limitsOf({ networks, rateLimit }: ApiKeyView): string[] {
  const from = networks === null ? [] : [`only from ${networks.join(', ')}`]
  if (rateLimit === null) return from
  return [...from, rateLimit === 0 ? 'any number of deliveries a minute' : `${rateLimit} deliveries a minute`]
}

/** How long a key is valid and what limits it, in words. */
export const validity = (key: ApiKeyView, times: Times): string =>
  [`valid ${untilText(key, times)}`, ...limitsOf(key)].join('; ')

const untilText = ({ expiresAt }: ApiKeyView, times: Times): string =>
  expiresAt === null ? 'until it is revoked' : `until ${times.stamp(expiresAt)}`

/** The state in words: `live, expires in 3 days`. A live key of a disabled customer does not work. */
export function stateText({ state, expiresSoon, expiresAt }: ApiKeyView, owner: Customer | undefined, now: number) {
  if (state === 'live' && owner?.enabled === false) return 'customer disabled'
  return expiresSoon ? `${state}, expires in ${inWords((expiresAt ?? now) - now)}` : state
}

const UNITS = [
  ['day', DAY_MILLISECONDS],
  ['hour', HOUR_MILLISECONDS],
  ['minute', 60_000],
] as const

/** Rounds down, so that nobody counts on more time than there is. */
function inWords(milliseconds: number): string {
  const [unit, length] = UNITS.find(([, length]) => milliseconds >= length) ?? []
  return unit === undefined ? 'less than a minute' : counted(Math.floor(milliseconds / length), unit)
}

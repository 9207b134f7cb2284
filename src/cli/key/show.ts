import type { ApiKeyView } from '#src/customer/api-key.rule.ts'
import { displayName } from '#src/lib/display-name.ts'
import { DAY_MILLISECONDS, HOUR_MILLISECONDS } from '#src/lib/duration.ts'
import type { Command } from '../command.ts'
import { table } from '../output/table.ts'
import type { Times } from '../output/times.ts'
import { withAccounts } from '../with-accounts.ts'

export const keyList: Command = {
  name: 'key list',
  about: 'List API keys, oldest first, with last use, expiry and limits',
  options: {
    customer: { type: 'string', value: 'CUSTOMER', about: 'Only keys of this customer: e-mail address or id' },
  },
  async run(input, context) {
    const rows = await withAccounts(context, 'read', async ({ apiKeys, customers }) => {
      const keys = await apiKeys.list(input.text('customer'))
      const all = new Map((await customers.list()).map((one) => [one.id, one]))
      return keys.map((key) => {
        const { enabled = true, name = '', email = '' } = all.get(key.customerId) ?? {}
        return { key, enabled, customer: displayName({ name, email }), json: { ...keyJson(key), customer: email } }
      })
    })
    if (input.json) {
      context.out(JSON.stringify(rows.map(({ json }) => json)))
      return
    }
    if (rows.length === 0) {
      context.out('There are no API keys yet: see teslim key issue --help.')
      return
    }
    const { times } = context
    const [expires, used] = [times.heading('expires'), times.heading('last used')]
    const heading = ['id', 'customer', 'label', 'state', expires, used, 'last address', 'limits']
    const now = context.clock.now()
    const cells = rows.map(({ key, enabled, customer, json }) => [
      json.id,
      customer,
      json.label,
      key.state === 'live' && !enabled ? 'customer disabled' : describeState(key, now),
      timeOrNever(key.expiresAt, times),
      timeOrNever(key.lastUse?.usedAt ?? null, times),
      json.lastUsedFrom ?? '',
      limitsOf(key).join('; '),
    ])
    context.out(table(heading, cells, context.columns))
  },
}

export const timeOrNever = (milliseconds: number | null, times: Times): string =>
  milliseconds === null ? 'never' : times.text(milliseconds)

export const iso = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : new Date(milliseconds).toISOString()

/** A key as JSON shows it. */
export const keyJson = (key: ApiKeyView) => ({
  id: key.id,
  customerId: key.customerId,
  label: key.label,
  state: key.state,
  createdAt: iso(key.createdAt),
  expiresAt: iso(key.expiresAt),
  expiresSoon: key.expiresSoon,
  revokedAt: iso(key.revokedAt),
  successorId: key.successorId,
  lastUsedAt: iso(key.lastUse?.usedAt ?? null),
  lastUsedFrom: key.lastUse?.address ?? null,
  networks: key.networks,
  rateLimit: key.rateLimit,
})

/** What limits a key, in words. */
export function limitsOf({ networks, rateLimit }: ApiKeyView): string[] {
  const from = networks === null ? [] : [`only from ${networks.join(', ')}`]
  if (rateLimit === null) return from
  return [...from, rateLimit === 0 ? 'any number of deliveries a minute' : `${rateLimit} deliveries a minute`]
}

/** How long a key is valid and what limits it, in words. */
export const validity = (key: ApiKeyView, times: Times): string =>
  [`valid ${untilText(key, times)}`, ...limitsOf(key)].join('; ')

export const untilText = ({ expiresAt }: ApiKeyView, times: Times): string =>
  expiresAt === null ? 'until it is revoked' : `until ${times.stamp(expiresAt)}`

/** A key after it was changed, in words. */
export const describeKey = (key: ApiKeyView, times: Times): string => {
  const label = key.label === '' ? '' : ` (${key.label})`
  return `${key.id}${label}: ${key.state === 'live' ? validity(key, times) : key.state}`
}

/** The state in words: `live, expires in 3 days`. */
export const describeState = ({ state, expiresSoon, expiresAt }: ApiKeyView, now: number): string =>
  expiresSoon ? `${state}, expires in ${inWords((expiresAt ?? now) - now)}` : state

const UNITS = [
  ['day', DAY_MILLISECONDS],
  ['hour', HOUR_MILLISECONDS],
  ['minute', 60_000],
] as const

/** Rounds down, so that nobody counts on more time than there is. */
function inWords(milliseconds: number): string {
  for (const [unit, length] of UNITS) {
    const count = Math.floor(milliseconds / length)
    if (count > 0) return `${count} ${unit}${count === 1 ? '' : 's'}`
  }
  return 'less than a minute'
}

import type { Command } from '../command.ts'
import { findKeyId } from '../input/id-prefix.ts'
import { readDuration, readLifetime } from '../input/time.ts'
import { withAccounts } from '../with-accounts.ts'
import { limitOptions, readLimits } from './limits.ts'
import { keyJson, untilText, validity } from './show.ts'

export const keyIssue: Command = {
  name: 'key issue',
  about: 'Issue an API key; it is shown once',
  options: {
    customer: { type: 'string', value: 'CUSTOMER', required: true, about: 'The customer: e-mail address or id' },
    label: { type: 'string', value: 'TEXT', about: 'What the key is for' },
    expires: {
      type: 'string',
      value: 'TIME',
      about: 'How long it is valid, such as 90d, 24h or 30m; forever if not given',
    },
    ...limitOptions,
  },
  async run(input, context) {
    const lifetime = readLifetime(input)
    const limits = readLimits(input)
    const { view, key } = await withAccounts(context, 'change', ({ apiKeys }) =>
      apiKeys.issue(input.text('customer') ?? '', input.text('label') ?? '', lifetime, limits),
    )
    const { id, ...rest } = keyJson(view)
    if (input.json) context.out(JSON.stringify({ id, key, ...rest }))
    else context.out(`${key}\n  shown once; ${validity(view, context.times)}; to revoke it: teslim key revoke ${id}`)
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
      type: 'string',
      value: 'TIME',
      about: `How long the old key still works, such as 24h or 30m; 0 ends it immediately; ${DEFAULT_OVERLAP_HOURS}h if not given`,
    },
    expires: {
      type: 'string',
      value: 'TIME',
      about: 'How long the new key is valid; the lifetime of the old one if not given',
    },
  },
  async run(input, context) {
    const lifetimeMilliseconds = readLifetime(input)
    const overlapMilliseconds =
      readDuration(input, 'overlap', '24h, 30m or 0', true) ?? DEFAULT_OVERLAP_HOURS * 3_600_000
    const { view, key, replaced } = await withAccounts(context, 'change', async ({ apiKeys }) =>
      apiKeys.rotate(findKeyId(input.positionals[0] ?? '', await apiKeys.list()), {
        overlapMilliseconds,
        lifetimeMilliseconds,
      }),
    )
    const { id, ...rest } = keyJson(view)
    const old = keyJson(replaced)
    if (input.json) {
      const replaces = { id: old.id, state: old.state, expiresAt: old.expiresAt }
      context.out(JSON.stringify({ id, key, ...rest, replaces }))
      return
    }
    const end = old.state === 'live' ? `works ${untilText(replaced, context.times)}` : 'no longer works'
    context.out(
      `${key}\n  shown once; ${validity(view, context.times)}; its id is ${id}\n  the old key, ${old.id}, ${end}`,
    )
  },
}

export const keyRevoke: Command = {
  name: 'key revoke',
  about: 'Revoke an API key; it stops working immediately',
  positionals: ['KEYID'],
  async run({ positionals: [id = ''], json }, context) {
    const key = await withAccounts(context, 'change', async ({ apiKeys }) =>
      apiKeys.revoke(findKeyId(id, await apiKeys.list())),
    )
    context.out(json ? JSON.stringify(keyJson(key)) : `${key.id} is revoked.`)
  },
}

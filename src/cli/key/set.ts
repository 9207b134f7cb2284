import { checkKeySettings } from '#src/customer/api-key.rule.ts'
import { type Command, Misuse } from '../command.ts'
import { readLifetime } from '../input/time.ts'
import { withAccounts } from '../with-accounts.ts'
import { keyJson, validity } from './keys.ts'
import { limitOptions, readLimits } from './limits.ts'

const NEVER = 'never'

export const keySet: Command = {
  name: 'key set',
  about: 'Change label, expiry, networks or rate of an API key',
  details:
    'What is not given stays. Holds in every server within a second. A key that has expired may be given more time; one that was revoked cannot be changed.',
  positionals: ['KEYID'],
  options: {
    label: { value: 'TEXT', about: 'What the key is for' },
    expires: {
      value: 'TIME',
      about: `How long it is valid from now on, such as 90d, 24h or 30m; ${NEVER} is forever`,
    },
    ...limitOptions,
  },
  async run(input, context) {
    const wanted = checkKeySettings({
      label: input.text('label'),
      lifetimeMilliseconds: input.text('expires') === NEVER ? null : readLifetime(input),
      ...readLimits(input),
    })
    if (Object.values(wanted).every((value) => value === undefined))
      throw new Misuse('say what to change: --label, --expires, --from or --rate')
    const key = await withAccounts(context, 'change', async ({ apiKeys, keyIdOf }) =>
      apiKeys.set(await keyIdOf(input.word), wanted),
    )
    const label = key.label === '' ? '' : ` (${key.label})`
    const state = key.state === 'live' ? validity(key, context.times) : key.state
    return { json: keyJson(key), text: () => `${key.id}${label}: ${state}` }
  },
}

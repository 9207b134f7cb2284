import { checkKeySettings } from '#src/customer/api-key.rule.ts'
import { type Command, Misuse } from '../command.ts'
import { findKeyId } from '../input/id-prefix.ts'
import { readLifetime } from '../input/time.ts'
import { withAccounts } from '../with-accounts.ts'
import { limitOptions, readLimits } from './limits.ts'
import { describeKey, keyJson } from './show.ts'

const NEVER = 'never'

export const keySet: Command = {
  name: 'key set',
  about: 'Change label, expiry, networks or rate of an API key',
  details:
    'What is not given stays. Holds in every server within a second. A key that has expired may be given more time; one that was revoked cannot be changed.',
  positionals: ['KEYID'],
  options: {
    label: { type: 'string', value: 'TEXT', about: 'What the key is for' },
    expires: {
      type: 'string',
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
    const key = await withAccounts(context, 'change', async ({ apiKeys }) =>
      apiKeys.set(findKeyId(input.positionals[0] ?? '', await apiKeys.list()), wanted),
    )
    context.out(input.json ? JSON.stringify(keyJson(key)) : describeKey(key, context.times))
  },
}

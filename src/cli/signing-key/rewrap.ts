import type { RecordAct } from '#src/audit/acts.ts'
import type { SigningKeyRules } from '#src/token/signing-key.rule.ts'
import { type Command, Misuse } from '../command.ts'
import { readSecretText } from '../input/password.ts'
import { withSigningKeys } from './with-signing-keys.ts'

export const signingKeyRewrap: Command = {
  name: 'signing-key rewrap',
  about: 'Encrypt every signing key under TESLIM_SECRET, after it was first set or has changed',
  options: {
    'old-secret-stdin': {
      type: 'boolean',
      about: 'Read the secret before from stdin, where TESLIM_SECRET_OLD and TESLIM_SECRET_OLD_FILE do not give it',
    },
  },
  async run(input, context) {
    const change = input.flag('old-secret-stdin') ? { formerSecret: await readSecretText('secret', context) } : {}
    if (change.formerSecret === '') throw new Misuse('there is no secret on stdin')
    const rewrap = async (rules: SigningKeyRules, record: RecordAct) => {
      const done = await rules.rewrap()
      await record('signing-key.rewrap', null, { ...done })
      return done
    }
    const { rewrapped, kept } = await withSigningKeys(context, rewrap, change)
    if (input.json) context.out(JSON.stringify({ rewrapped, kept }))
    else context.out(`${rewrapped} encrypted under TESLIM_SECRET now, ${kept} were so before.`)
  },
}

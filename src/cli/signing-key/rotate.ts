import type { Command } from '../command.ts'
import { signingKeyJson, withSigningKeys } from './with-signing-keys.ts'

export const signingKeyRotate: Command = {
  name: 'signing-key rotate',
  about: 'Sign access tokens with a new key; the old one verifies until its last token has expired',
  options: {
    'at-once': { type: 'boolean', about: 'The old keys verify nothing more: for a key that has leaked' },
  },
  async run(input, context) {
    const atOnce = input.flag('at-once')
    const { key, made } = await withSigningKeys(context, async (rules, record) => {
      const rotated = await rules.rotate(atOnce)
      if (rotated.made) await record('signing-key.rotate', null, { kid: rotated.key.kid, atOnce })
      return rotated
    })
    if (input.json) {
      context.out(JSON.stringify({ ...signingKeyJson(key), made }))
      return
    }
    const others = atOnce
      ? 'Tokens that were issued before are refused: customers log in again.'
      : 'Tokens that were issued before stay valid until they expire.'
    const by = made ? '' : ' Another process made it just now.'
    context.out(`${key.kid} signs from now on.${by}\n${others}`)
  },
}

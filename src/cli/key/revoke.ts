import type { Command } from '../command.ts'
import { keyJson } from '../output/show-key.ts'
import { withAccounts } from '../with-accounts.ts'

export const keyRevoke: Command = {
  name: 'key revoke',
  about: 'Revoke an API key; it opens nothing from then on',
  positionals: ['KEYID'],
  async run({ positionals: [id = ''], json }, context) {
    const key = await withAccounts(context, ({ apiKeys }) => apiKeys.revoke(id))
    context.out(json ? JSON.stringify(keyJson(key)) : `${id} is revoked.`)
  },
}

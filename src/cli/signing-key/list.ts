import type { Command } from '../command.ts'
import { table } from '../output/table.ts'
import { signingKeyJson, withSigningKeys } from './with-signing-keys.ts'

export const signingKeyList: Command = {
  name: 'signing-key list',
  about: 'List the keys of access tokens, the newest first: which one signs, and until when the others verify',
  async run({ json }, context) {
    const keys = (await withSigningKeys(context, (rules) => rules.list())).map(signingKeyJson)
    if (json) context.out(JSON.stringify(keys))
    else if (keys.length === 0) context.out('There are no signing keys yet: the first login makes one.')
    else {
      const rows = keys.map(({ kid, algorithm, state, createdAt, expiresAt, encrypted }) => [
        kid,
        algorithm,
        state,
        createdAt,
        expiresAt ?? 'when replaced',
        encrypted ? 'encrypted' : 'in the clear',
      ])
      context.out(table(['kid', 'algorithm', 'state', 'created', 'expires', 'stored'], rows))
    }
  },
}

import { parseDuration } from '#src/lib/duration.ts'
import { type Command, Misuse } from '../command.ts'
import { readLifetime } from '../input/time.ts'
import { keyJson, validity } from '../output/show-key.ts'
import { withAccounts } from '../with-accounts.ts'

const DEFAULT_OVERLAP = '24h'

export const keyRotate: Command = {
  name: 'key rotate',
  about: 'Replace an API key by a new one, which is shown this once; both work for a while',
  positionals: ['KEYID'],
  options: {
    overlap: {
      type: 'string',
      value: 'TIME',
      about: `How long the old key still works, such as 24h or 30m; 0 ends it at once; ${DEFAULT_OVERLAP} if not given`,
    },
    expires: {
      type: 'string',
      value: 'TIME',
      about: 'How long the new key is valid; as long as the old one was, counted from now, if not given',
    },
  },
  async run(input, context) {
    const [oldId = ''] = input.positionals
    const lifetimeMilliseconds = readLifetime(input.text('expires'))
    const overlapMilliseconds = readOverlap(input.text('overlap') ?? DEFAULT_OVERLAP)
    const { view, key, replaced } = await withAccounts(context, ({ apiKeys }) =>
      apiKeys.rotate(oldId, { overlapMilliseconds, lifetimeMilliseconds }),
    )
    const { id, ...rest } = keyJson(view)
    if (input.json) {
      const { id: replacedId, state, expiresAt } = keyJson(replaced)
      context.out(JSON.stringify({ id, key, ...rest, replaces: { id: replacedId, state, expiresAt } }))
      return
    }
    const end = replaced.state === 'live' ? `works until ${keyJson(replaced).expiresAt}` : 'works no more'
    context.out(`${key}\n  shown this once; ${validity(view)}; its id is ${id}\n  the old key, ${oldId}, ${end}`)
  },
}

function readOverlap(text: string): number {
  const overlap = parseDuration(text)
  if (overlap === undefined) throw new Misuse(`--overlap takes a time such as 24h, 30m or 0, not "${text}"`)
  return overlap
}

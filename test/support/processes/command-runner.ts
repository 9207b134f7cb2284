import { runUnchecked } from './command.ts'
import type { CommandAnswer, CommandRequest } from './prepared-commands.ts'

// The process of prepared-commands.ts: answers one request after the other.
process.on('message', async ({ args, options }: CommandRequest) => {
  const answer: CommandAnswer = await runUnchecked(args, options).then(
    (outcome) => ({ outcome }),
    (error: unknown) => ({ error: String(error) }),
  )
  process.send?.(answer)
})

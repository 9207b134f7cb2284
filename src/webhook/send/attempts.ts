import type { Exchange } from './exchange.ts'

interface Member {
  readonly attempt: Exchange
  place: number
}

/** The attempts under way. */
export type Attempts = ReturnType<typeof createAttempts>

/** Not a Set: one that changes all the time keeps deleted members alive until the next full garbage collection. */
export function createAttempts() {
  const members: Member[] = []
  const remove = (member: Member): void => {
    const last = members.pop()
    if (last === undefined || last === member) return
    last.place = member.place
    members[member.place] = last
  }
  return {
    /** Returns a function that removes the attempt. */
    add(attempt: Exchange) {
      const member = { attempt, place: members.length }
      members.push(member)
      return () => remove(member)
    },
    stop(error: Error) {
      for (const { attempt } of members) attempt.stop(error)
    },
  }
}

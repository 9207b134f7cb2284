/** Bytes that uploads share. */
interface Budget {
  hold(owner: string, giveUp: () => void): { grow(bytes: number): boolean; complete(): void; release(): void }
}

/** What an upload takes besides unfinished lines and unread answers: bytes that were read and are not used yet. */
const BYTES_OF_ONE = 128 * 1024

/** Takes the room of one upload of a customer. Returns the function that gives it back; undefined if there is no room. */
export function takeUploadRoom(budget: Budget, customerId: string): (() => void) | undefined {
  const room = budget.hold(customerId, () => undefined)
  if (!room.grow(BYTES_OF_ONE)) return undefined
  room.complete()
  return room.release
}

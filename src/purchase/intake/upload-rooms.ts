/** Bytes that uploads share. */
interface Budget {
  readonly limit: number
  hold(giveUp: () => void): { grow(bytes: number): boolean; complete(): void; release(): void }
}

/** What an upload takes besides unfinished lines and unread answers: bytes that were read and are not used yet. */
const BYTES_OF_ONE = 128 * 1024
/** The part of the room that one customer can take, so that others find some. */
const PART_OF_CUSTOMER = 1 / 2

/** Makes a function that takes the room of one upload, and returns the function that gives it back; undefined if there is no room. */
export function createUploadRooms(budget: Budget): (customerId: string) => (() => void) | undefined {
  const mostOfCustomer = Math.max(1, Math.floor((budget.limit / BYTES_OF_ONE) * PART_OF_CUSTOMER))
  const taken = new Map<string, number>()

  return (customerId) => {
    const already = taken.get(customerId) ?? 0
    if (already >= mostOfCustomer) return undefined
    const room = budget.hold(() => undefined)
    if (!room.grow(BYTES_OF_ONE)) return undefined
    room.complete()
    taken.set(customerId, already + 1)
    return () => {
      room.release()
      const left = (taken.get(customerId) ?? 1) - 1
      if (left === 0) taken.delete(customerId)
      else taken.set(customerId, left)
    }
  }
}

import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'

const PART_OF_MEMORY = 8
/** The heap holds the decoded bodies. */
const PART_OF_HEAP = 4

/** The bytes that data of one kind may take: a fraction of this process's memory, or of V8's heap if that is less. */
export function memoryShare(): number {
  // 0 if it is unknown, and a huge number if the control group sets no limit.
  const memory = Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem())
  return Math.floor(Math.min(memory / PART_OF_MEMORY, getHeapStatistics().heap_size_limit / PART_OF_HEAP))
}

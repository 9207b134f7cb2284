/**
 * Counts how often each line has come. Takes some 30 bytes for each different line, however long. Two lines with one digest would
 * share a count, which does no harm.
 */
export function createRepeatCounts() {
  let digests = new Float64Array(1024)
  let counts = new Uint32Array(1024)
  let used = 0

  const placeOf = (digest: number, among: Float64Array): number => {
    let place = digest % among.length
    while (among[place] !== 0 && among[place] !== digest) place = (place + 1) % among.length
    return place
  }

  const grow = (): void => {
    const [before, countsBefore] = [digests, counts]
    digests = new Float64Array(before.length * 2)
    counts = new Uint32Array(before.length * 2)
    for (const [index, digest] of before.entries()) {
      if (digest === 0) continue
      const place = placeOf(digest, digests)
      digests[place] = digest
      counts[place] = countsBefore[index] as number
    }
  }

  /** Returns 1 for the first line with this digest, hexadecimal digits, 2 for the second, and so on. */
  return (hexadecimal: string): number => {
    const digest = Number.parseInt(hexadecimal.slice(0, 13), 16) || 1
    if (used * 2 >= digests.length) grow()
    const place = placeOf(digest, digests)
    if (digests[place] === 0) used++
    digests[place] = digest
    const count = (counts[place] as number) + 1
    counts[place] = count
    return count
  }
}

/** Two edits of a shorter name make another word. */
const TWO_EDITS_FROM = 5

/** Returns the candidate that a mistyped name was probably meant to be, if one is at most `maxDistance` edits away. */
export function nearest(
  name: string,
  candidates: Iterable<string>,
  maxDistance = name.length < TWO_EDITS_FROM ? 1 : Math.max(2, Math.floor(name.length / 3)),
): string | undefined {
  let best: string | undefined
  let bestDistance = maxDistance + 1
  for (const candidate of candidates) {
    // A name may be as long as a body.
    if (Math.abs(name.length - candidate.length) > maxDistance) continue
    const distance = editDistance(name, candidate)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Levenshtein's distance, one row at a time. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}

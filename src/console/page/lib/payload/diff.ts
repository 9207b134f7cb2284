/** More lines or more changes than these take too long to compare. */
const MAX_LINES = 20_000
const MAX_CHANGES = 1000

export interface Changed {
  readonly sign: ' ' | '-' | '+'
  readonly text: string
}
/** Stands for equal lines far from changes. */
export interface LeftOut {
  readonly sign: '…'
  count: number
}

/**
 * Compares lists of lines by Myers' algorithm. Returns `[{ sign: ' ' | '-' | '+', text }]` in reading order, or undefined if they
 * are too long or too different.
 */
export function diffLines(before: readonly string[], after: readonly string[]): Changed[] | undefined {
  let head = 0
  while (head < before.length && head < after.length && before[head] === after[head]) head++
  let tail = 0
  const most = Math.min(before.length, after.length) - head
  while (tail < most && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++
  const changed = changes(before.slice(head, before.length - tail), after.slice(head, after.length - tail))
  const same = (lines: readonly string[]): Changed[] => lines.map((text) => ({ sign: ' ', text }))
  return changed && [...same(before.slice(0, head)), ...changed, ...same(before.slice(before.length - tail))]
}

function changes(a: readonly string[], b: readonly string[]): Changed[] | undefined {
  if (a.length + b.length > MAX_LINES) return undefined
  /** For each number of changes, how far each diagonal came in `a`. */
  const trace: Reach[] = []
  let reach: Reach = new Map([[1, 0]])
  for (let count = 0; count <= MAX_CHANGES; count++) {
    const next = new Map<number, number>()
    trace.push(reach)
    for (let diagonal = -count; diagonal <= count; diagonal += 2) {
      let x = startOn(reach, diagonal, count)
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x++
      next.set(diagonal, x)
      if (x >= a.length && x - diagonal >= b.length) return walkBack(a, b, trace)
    }
    reach = next
  }
  return undefined
}

type Reach = ReadonlyMap<number, number>

const far = (reach: Reach, diagonal: number): number => reach.get(diagonal) ?? -1
const comesDown = (reach: Reach, diagonal: number, count: number): boolean =>
  diagonal === -count || (diagonal !== count && far(reach, diagonal - 1) < far(reach, diagonal + 1))
const startOn = (reach: Reach, diagonal: number, count: number): number =>
  comesDown(reach, diagonal, count) ? far(reach, diagonal + 1) : far(reach, diagonal - 1) + 1

function walkBack(a: readonly string[], b: readonly string[], trace: readonly Reach[]): Changed[] {
  const found: Changed[] = []
  let [x, y] = [a.length, b.length]
  for (const [count, reach] of [...trace.entries()].reverse()) {
    const down = comesDown(reach, x - y, count)
    const from = down ? far(reach, x - y + 1) : far(reach, x - y - 1)
    const fromY = from - (down ? x - y + 1 : x - y - 1)
    const start = down ? from : from + 1
    while (x > start && y > 0) {
      x--
      y--
      found.push({ sign: ' ', text: a[x] ?? '' })
    }
    if (count === 0) break
    if (down) found.push({ sign: '+', text: b[fromY] ?? '' })
    else found.push({ sign: '-', text: a[from] ?? '' })
    x = from
    y = fromY
  }
  return found.reverse()
}

/** Leaves out equal lines far from changes: `{ sign: '…', count }` stands for them. */
export function withContext(lines: readonly Changed[], context = 3): (Changed | LeftOut)[] {
  const near = new Uint8Array(lines.length)
  for (const [index, { sign }] of lines.entries()) {
    if (sign !== ' ') near.fill(1, Math.max(0, index - context), index + context + 1)
  }
  const found: (Changed | LeftOut)[] = []
  for (const [index, line] of lines.entries()) {
    const last = found.at(-1)
    if (near[index]) found.push(line)
    else if (last?.sign === '…') last.count++
    else found.push({ sign: '…', count: 1 })
  }
  return found
}

/** More lines or more changes than these take too long to compare. */
const MAX_LINES = 20_000
const MAX_CHANGES = 1000

/**
 * Compares lists of lines by Myers' algorithm. Returns `[{ sign: ' ' | '-' | '+', text }]` in reading order, or undefined if they
 * are too long or too different.
 */
export function diffLines(before, after) {
  let head = 0
  while (head < before.length && head < after.length && before[head] === after[head]) head++
  let tail = 0
  const most = Math.min(before.length, after.length) - head
  while (tail < most && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++
  const changed = changes(before.slice(head, before.length - tail), after.slice(head, after.length - tail))
  const same = (lines) => lines.map((text) => ({ sign: ' ', text }))
  return changed && [...same(before.slice(0, head)), ...changed, ...same(before.slice(before.length - tail))]
}

function changes(a, b) {
  if (a.length + b.length > MAX_LINES) return undefined
  /** For each number of changes, how far each diagonal came in `a`. */
  const trace = []
  let reach = new Map([[1, 0]])
  for (let count = 0; count <= MAX_CHANGES; count++) {
    const next = new Map()
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

const far = (reach, diagonal) => reach.get(diagonal) ?? -1
const comesDown = (reach, diagonal, count) =>
  diagonal === -count || (diagonal !== count && far(reach, diagonal - 1) < far(reach, diagonal + 1))
const startOn = (reach, diagonal, count) =>
  comesDown(reach, diagonal, count) ? far(reach, diagonal + 1) : far(reach, diagonal - 1) + 1

function walkBack(a, b, trace) {
  const found = []
  let [x, y] = [a.length, b.length]
  for (let count = trace.length - 1; count >= 0; count--) {
    const reach = trace[count]
    const down = comesDown(reach, x - y, count)
    const from = down ? far(reach, x - y + 1) : far(reach, x - y - 1)
    const fromY = from - (down ? x - y + 1 : x - y - 1)
    const start = down ? from : from + 1
    while (x > start && y > 0) {
      x--
      y--
      found.push({ sign: ' ', text: a[x] })
    }
    if (count === 0) break
    if (down) found.push({ sign: '+', text: b[fromY] })
    else found.push({ sign: '-', text: a[from] })
    x = from
    y = fromY
  }
  return found.reverse()
}

/** Leaves out equal lines far from changes: `{ sign: '…', count }` stands for them. */
export function withContext(lines, context = 3) {
  const near = new Uint8Array(lines.length)
  for (const [index, { sign }] of lines.entries()) {
    if (sign !== ' ') near.fill(1, Math.max(0, index - context), index + context + 1)
  }
  const found = []
  for (const [index, line] of lines.entries()) {
    if (near[index]) found.push(line)
    else if (found.at(-1)?.sign === '…') found.at(-1).count++
    else found.push({ sign: '…', count: 1 })
  }
  return found
}

/** The smallest round number that is not below a value and has a round half. */
function roundTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)))
  return [2, 4, 6, 8, 10].map((step) => step * power).find((top) => top >= value) ?? 20 * power
}

/** How many times as high as nearly all others a column may be. */
const FAR_ABOVE = 4
const NEARLY_ALL = 0.95

/** The top of a chart of columns with these heights. A few that are far above all others are cut, so that the others can be read. */
export function topOf(heights: readonly number[]): number {
  const sorted = heights.toSorted((one, other) => one - other)
  const highest = sorted.at(-1) ?? 0
  const usual = sorted[Math.floor((sorted.length - 1) * NEARLY_ALL)] ?? 0
  return roundTop(usual > 0 && highest > FAR_ABOVE * usual ? 2 * usual : highest)
}

const DATE = /^(\d{4}-\d\d-\d\d)$/
const DATE_TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(?:\.\d{1,3})?(?:Z|[+-]\d\d:\d\d)$/

/**
 * Reads a time in RFC 3339 (`2026-11-21T09:00:00+03:00`), or a day in UTC, as milliseconds since 1970; undefined for any other
 * text. A time without a zone is refused as ambiguous.
 */
export function readTime(text: string): number | undefined {
  // A plus that was not percent-encoded arrives as a space.
  const written = text.toUpperCase().replace(/ (\d\d:\d\d)$/, '+$1')
  const day = (DATE.exec(written) ?? DATE_TIME.exec(written))?.[1]
  // Date.parse turns 30 February into a day in March.
  if (day === undefined || !isDay(day)) return undefined
  const time = Date.parse(written)
  return Number.isNaN(time) ? undefined : time
}

function isDay(day: string): boolean {
  const time = Date.parse(day)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day)
}

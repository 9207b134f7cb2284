const DATE = /^(\d{4}-\d\d-\d\d)$/
const DATE_TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(?:\.\d{1,3})?(?:Z|[+-]\d\d:\d\d)$/

/**
 * Milliseconds since 1970 from RFC 3339 (`2026-11-21T09:00:00+03:00`) or from a day in UTC; undefined for any other text. A time
 * without a zone is none: whoever wrote it meant one of two things.
 */
export function readTime(text: string): number | undefined {
  // A plus that was not percent-encoded arrives as a space.
  const written = text.toUpperCase().replace(/ (\d\d:\d\d)$/, '+$1')
  const day = (DATE.exec(written) ?? DATE_TIME.exec(written))?.[1]
  // Of a day that a month does not have Date makes one of the next month.
  if (day === undefined || !isDay(day)) return undefined
  const time = Date.parse(written)
  return Number.isNaN(time) ? undefined : time
}

function isDay(day: string): boolean {
  const time = Date.parse(day)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day)
}

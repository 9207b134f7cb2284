/** Services name tokens in paths: `/services/T000/B000/TOKEN`. An escaped slash separates, too. */
const FIRST_SEGMENT = /^\/(?:(?!%2f)[^/])*/i
/** Shorter segments and parameters are words that any answer may have. */
const MIN_LENGTH = 12

const MASK = '***'

/** Returns a URL without what may hold a token: its path after the first segment, and its query. */
export function maskedUrl(url: string): string {
  const { origin, pathname, search } = new URL(url)
  const [first = ''] = FIRST_SEGMENT.exec(pathname) ?? []
  const hasMore = pathname.length > first.length + 1
  return `${origin}${hasMore ? `${first}/${MASK}` : pathname}${search === '' ? '' : `?${MASK}`}`
}

/** Returns what `maskedUrl` leaves out of the path, and the longer parts of it and of the query: answers must not show them to others. */
export function maskedParts({ pathname, searchParams }: URL): string[] {
  const rest = pathname.replace(FIRST_SEGMENT, '')
  return [rest, ...[...rest.split(/\/|%2f/i), ...searchParams.values()].filter(({ length }) => length >= MIN_LENGTH)]
}

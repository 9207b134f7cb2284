/** Counts a header among the raw ones: Node keeps only the first of several. `name` is in lower case; names have even indexes. */
export function headerCount(rawHeaders: readonly string[], name: string): number {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i]
    if (sent?.length === name.length && sent.toLowerCase() === name) count++
  }
  return count
}

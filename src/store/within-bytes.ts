/** Returns the first items whose payloads have at most `maxBytes` bytes together, and at least one item. */
export function withinBytes<Item extends { readonly payloadBytes: number }>(
  items: readonly Item[],
  maxBytes: number,
): Item[] {
  let bytes = 0
  const beyond = items.findIndex(({ payloadBytes }, index) => {
    bytes += payloadBytes
    return index > 0 && bytes > maxBytes
  })
  return beyond < 0 ? [...items] : items.slice(0, beyond)
}

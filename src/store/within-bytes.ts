/** Returns the first items that have at most `maxBytes` bytes together, and at least one item. */
export function firstWithin<Item>(items: readonly Item[], maxBytes: number, bytesOf: (item: Item) => number): Item[] {
  let bytes = 0
  const beyond = items.findIndex((item, index) => {
    bytes += bytesOf(item)
    return index > 0 && bytes > maxBytes
  })
  return beyond < 0 ? [...items] : items.slice(0, beyond)
}

/** Returns the first items whose payloads have at most `maxBytes` bytes together, and at least one item. */
export const withinBytes = <Item extends { readonly payloadBytes: number }>(items: readonly Item[], maxBytes: number) =>
  firstWithin(items, maxBytes, ({ payloadBytes }) => payloadBytes)

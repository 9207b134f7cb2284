/** As many of the first ones as have so many bytes of payload together; one at least, if there is one. */
export function withinBytes<Item extends { readonly payloadBytes: number }>(
  items: readonly Item[],
  most: number,
): Item[] {
  let bytes = 0
  const beyond = items.findIndex(({ payloadBytes }, index) => {
    bytes += payloadBytes
    return index > 0 && bytes > most
  })
  return beyond < 0 ? [...items] : items.slice(0, beyond)
}

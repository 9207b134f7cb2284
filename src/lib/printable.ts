/** Replaces control characters: what came over the network must not control the terminal of the reader. */
export const printable = (text: string): string => text.replace(/\p{C}/gu, '\ufffd')

/** Returns `1 delivery`, `2 deliveries` or `1,000 orders`. */
export const counted = (number: number, one: string, several = `${one}s`): string =>
  `${number.toLocaleString('en')} ${number === 1 ? one : several}`

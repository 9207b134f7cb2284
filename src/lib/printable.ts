/** Replaces control characters: what came over the network must not control the terminal of the reader. */
export const printable = (text: string): string => text.replace(/\p{C}/gu, '\ufffd')

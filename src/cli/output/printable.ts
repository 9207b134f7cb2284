/** Replaces control characters: text from the network must not control the reader's terminal. */
export const printable = (text: string): string => text.replace(/\p{C}/gu, '\ufffd')

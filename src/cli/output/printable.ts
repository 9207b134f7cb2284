/** What came over the network must not command the terminal of whoever reads it. */
export const printable = (text: string): string => text.replace(/\p{C}/gu, '\ufffd')

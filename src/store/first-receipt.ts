/** The smallest receipt of a time, as 32 hexadecimal digits: a version 7 UUID begins with its milliseconds. */
export const firstReceiptOf = (time: number): string =>
  Math.min(Math.max(time, 0), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, '0')
    .padEnd(32, '0')

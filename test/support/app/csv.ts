import { expect } from 'vitest'

/** Reads CSV by the letter of RFC 4180. */
export function readCsv(text: string): string[][] {
  const rows: string[][] = [[]]
  let cell = ''
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] ?? ''
    if (isQuoted && sign === '"' && text[at + 1] === '"') cell += text[at++]
    else if (sign === '"') isQuoted = !isQuoted
    else if (isQuoted || (sign !== ',' && !text.startsWith('\r\n', at))) cell += sign
    else {
      rows.at(-1)?.push(cell)
      cell = ''
      if (sign === ',') continue
      rows.push([])
      at++
    }
  }
  expect([isQuoted, cell, rows.pop()]).toEqual([false, '', []])
  return rows
}

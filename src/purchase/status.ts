/** What the contract's Status values mean. */
export const STATUS_MEANINGS = ['canceled', 'updated', 'being processed', 'removed from processing'] as const

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/**
 * The Status that a JSON token stands for, from its text: JSON.parse would round 3.0000000000000000001 to 3. Any
 * spelling of a whole number from 0 to 3 counts (2, 2.0, 20e-1), nothing else does.
 */
export function readStatus(token: string): number | undefined {
  if (token.length === 1) return token >= '0' && token <= '3' ? Number(token) : undefined
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(token) ?? []
  if (sign === undefined) return undefined
  const digits = (whole + fraction).replace(/^0+/, '')
  if (digits === '') return 0
  const significant = digits.replace(/0+$/, '')
  const power = Number(exponent) - fraction.length + (digits.length - significant.length)
  const inRange = sign === '' && power === 0 && /^[123]$/.test(significant)
  return inRange ? Number(significant) : undefined
}

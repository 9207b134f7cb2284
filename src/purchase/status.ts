/** The meanings of the contract's Status values. */
export const STATUS_MEANINGS = ['canceled', 'updated', 'being processed', 'removed from processing'] as const

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/**
 * Returns the Status that a JSON token stands for: any spelling of a whole number from 0 to 3 (2, 2.0, 20e-1). Reads the text,
 * because JSON.parse would round 3.0000000000000000001 to 3.
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

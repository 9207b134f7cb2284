import { isIP } from 'node:net'

const BITS: Readonly<Record<number, number>> = { 4: 32, 6: 128 }

/** Accepts an address without a zone, optionally with a prefix length; /0 would trust everybody. */
function isNetwork(text: string): boolean {
  const [, address = '', prefix] = /^([^/%]+)(?:\/([1-9]\d{0,2}))?$/.exec(text) ?? []
  const bits = BITS[isIP(address)]
  return bits !== undefined && (prefix === undefined || Number(prefix) <= bits)
}

/** Returns undefined for `off`. */
export function readTrustedProxies(text: string): string[] | undefined {
  return text === 'off' ? undefined : text.split(',').map((item) => item.trim())
}

export const areTrustedProxies = (text: string): boolean =>
  (readTrustedProxies(text) ?? []).every((item) => item === 'loopback' || isNetwork(item))

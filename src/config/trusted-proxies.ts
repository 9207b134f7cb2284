import { isNetwork, readPrefix } from '#src/lib/net/network.ts'

/** Accepts what Fastify does, except a prefix that trusts everybody. */
export const areTrustedProxies = (text: string): boolean =>
  text === 'off' || text.split(',').every((item) => isTrustedProxy(item.trim()))

function isTrustedProxy(text: string): boolean {
  if (text === 'loopback') return true
  const network = readPrefix(text)
  return isNetwork(network) && network.prefixBits > 0
}

import { isIPv6 } from 'node:net'
import { addressBytes, contains } from '#src/lib/net/network.ts'

const LOOPBACK = ['127.0.0.0/8', '::1']

/** Makes a function that says whether an address is that of a trusted proxy, from the checked `TESLIM_TRUST_PROXY`. */
export function trustedPeers(trustProxy: string): (address: string) => boolean {
  const networks = trustProxy
    .split(',')
    .flatMap((item) => (item.trim() === 'loopback' ? LOOPBACK : item.trim()))
    .flatMap((item) => {
      const [address = '', prefix] = item.split('/')
      const bytes = addressBytes(address)
      if (bytes === undefined) return []
      const all = 8 * bytes.length
      // Of an IPv4 address in the notation of IPv6, 96 bits are not in its bytes.
      const mapped = isIPv6(address) ? 128 - all : 0
      return { bytes, prefixBits: prefix === undefined ? all : Number(prefix) - mapped }
    })
  return (address) => {
    const bytes = networks.length === 0 ? undefined : addressBytes(address)
    return bytes !== undefined && networks.some((network) => contains(network, bytes))
  }
}

import { addressBytes, contains, readPrefix } from '#src/lib/net/network.ts'

const LOOPBACK = ['127.0.0.0/8', '::1']

/** Makes a function that says whether an address is that of a trusted proxy, from the checked `TESLIM_TRUST_PROXY`. */
export function trustedPeers(trustProxy: string): (address: string) => boolean {
  const networks = trustProxy
    .split(',')
    .flatMap((item) => (item.trim() === 'loopback' ? LOOPBACK : item.trim()))
    .map(readPrefix)
    .filter((network) => typeof network !== 'string')
  return (address) => {
    const bytes = networks.length === 0 ? undefined : addressBytes(address)
    return bytes !== undefined && networks.some((network) => contains(network, bytes))
  }
}

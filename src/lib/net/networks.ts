import { addressBytes, contains, isNetwork, type Network, readNetwork, readPrefix } from './network.ts'

/** Several networks as one. */
export type Networks = ReturnType<typeof joinNetworks>

/** IPv4 addresses that are mapped into IPv6 count as IPv4; a zone id does not count. What is no address is nowhere. */
export function joinNetworks(networks: readonly Network[]) {
  // Most API keys and most operators come from one address.
  let last: string | undefined
  return {
    contain(address: string) {
      if (address === last) return true
      const bytes = addressBytes(address)
      if (bytes === undefined || !networks.some((network) => contains(network, bytes))) return false
      last = address
      return true
    },
  }
}

/** The networks of the checked `TESLIM_OPERATOR_NETWORKS`; undefined if operators may come from anywhere. */
export const operatorNetworks = (setting: readonly string[]): Networks | undefined =>
  setting.length === 0 ? undefined : joinNetworks(setting.map(readNetwork).filter(isNetwork))

const LOOPBACK = ['127.0.0.0/8', '::1']

/** The networks of the checked `TESLIM_TRUST_PROXY`. */
export const trustedProxies = (setting: string): Networks =>
  joinNetworks(
    setting
      .split(',')
      .flatMap((item) => (item.trim() === 'loopback' ? LOOPBACK : item.trim()))
      .map(readPrefix)
      .filter(isNetwork),
  )

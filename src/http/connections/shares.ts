import { networkOf, siteOf } from '#src/lib/net/network.ts'
import type { Networks } from '#src/lib/net/networks.ts'

/** The part of all connections that an IPv4 address may hold, or the addresses of one /64. */
const PART_OF_NETWORK = 1 / 4
/** Those of one /48, of which whoever asks gets one. IPv4 has no such network: neighbours of an address belong to others. */
const PART_OF_SITE = 1 / 2
export const MIN_CONNECTIONS = 8

interface Counted {
  readonly network: string
  readonly most: number
}

/** To find the networks of an IPv6 address takes some µs, which most requests spare: few addresses deliver most. */
const MAX_KNOWN = 1000

/**
 * Counts the connections that clients hold by the networks of their addresses: their own, and those of a proxy with a request of theirs.
 * A trusted proxy is not counted.
 */
export function createShares(connections: number, proxies: Networks) {
  const mostOf = (part: number): number => Math.max(MIN_CONNECTIONS, Math.ceil(connections * part))
  const [ofNetwork, ofSite] = [mostOf(PART_OF_NETWORK), mostOf(PART_OF_SITE)]
  /** Without networks that hold none. */
  const held = new Map<string, number>()
  const known = new Map<string, readonly Counted[]>()

  const find = (address: string): readonly Counted[] => {
    if (proxies.contain(address)) return []
    const site = siteOf(address)
    const network = { network: networkOf(address), most: ofNetwork }
    return site === undefined ? [network] : [network, { network: site, most: ofSite }]
  }
  const networksOf = (address: string): readonly Counted[] => {
    const seen = known.get(address)
    if (seen !== undefined) return seen
    const found = find(address)
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(address, found)
    return found
  }
  const heldBy = (network: string): number => held.get(network) ?? 0
  const add = (networks: readonly Counted[], change: number): void => {
    for (const { network } of networks) {
      const now = heldBy(network) + change
      if (now > 0) held.set(network, now)
      else held.delete(network)
    }
  }

  return {
    /**
     * Counts one more, and returns the function that takes it back, also if it is called twice. Returns undefined if a network would then
     * hold more than `times` its part.
     */
    take(address: string, times = 1): (() => void) | undefined {
      const networks = networksOf(address)
      for (const { network, most } of networks) if (heldBy(network) + 1 > most * times) return undefined
      add(networks, 1)
      let isHeld = true
      return () => {
        if (isHeld) add(networks, -1)
        isHeld = false
      }
    },
    /** Whether a network of the address holds more than its part. */
    isOver: (address: string): boolean => networksOf(address).some(({ network, most }) => heldBy(network) > most),
    /** How many networks hold some. */
    networks: () => held.size,
  }
}

import { isIPv6 } from 'node:net'
import { AppError } from '#src/lib/app-error.ts'
import { addressBytes, contains, firstAddress, type Network, networkText } from '#src/lib/net/network.ts'
import { customerErrors } from './customer.errors.ts'

/** Where an API key may be used from. */
export interface Networks {
  contain(address: string): boolean
}

const MOST_NETWORKS = 100
const MAPPED_BITS = 96

/**
 * Checks a list of networks and returns it as it is stored: each one in its canonical spelling (RFC 5952), sorted, none twice. An
 * IPv4 network that is written as a part of `::ffff:0:0/96` becomes IPv4.
 */
export function checkNetworks(texts: readonly string[]): string[] {
  if (texts.length === 0) refuse('The list of networks is empty: write "anywhere" to allow every address.')
  const read = new Map(texts.map((text) => readNetwork(text)).map((network) => [networkText(network), network]))
  if (read.size > MOST_NETWORKS) refuse(`A key has at most ${MOST_NETWORKS} networks, not ${read.size}.`)
  return [...read].sort(([, one], [, other]) => compare(one, other)).map(([text]) => text)
}

/** Compiles stored networks. IPv4 addresses that are mapped into IPv6 count as IPv4; a zone id does not count. */
export function compileNetworks(stored: readonly string[]): Networks {
  const networks = stored.map(readNetwork)
  // Most keys are used from one address.
  let last: string | undefined
  return {
    contain(address) {
      if (address === last) return true
      const bytes = addressBytes(address)
      if (bytes === undefined || !networks.some((network) => contains(network, bytes))) return false
      last = address
      return true
    },
  }
}

/** Whether every address of a network lies in one of the others. */
export function isWithin(network: string, others: readonly string[]): boolean {
  const { bytes, prefixBits } = readNetwork(network)
  return others.map(readNetwork).some((other) => other.prefixBits <= prefixBits && contains(other, bytes))
}

function readNetwork(text: string): Network {
  const [, address = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const bytes = addressBytes(address)
  if (bytes === undefined || /^0\d/.test(prefix ?? '')) {
    refuse(
      `${JSON.stringify(text)} is not a network: write an address such as 203.0.113.7, or a prefix such as 203.0.113.0/24 or 2001:db8::/32.`,
    )
  }
  if (address.includes('%'))
    refuse(`${JSON.stringify(text)} has a zone id, which has a meaning on one machine only: leave it out.`)
  const [all, mapped] = [8 * bytes.length, isIPv6(address) && bytes.length === 4 ? MAPPED_BITS : 0]
  const prefixBits = prefix === undefined ? all : Number(prefix) - mapped
  if (prefixBits > all || prefixBits < 0) {
    refuse(`"${text}" has a wrong prefix length: from ${mapped + 1} to ${mapped + all} is possible.`)
  }
  if (prefixBits === 0) refuse(`"${text}" contains every address: write "anywhere" for that.`)
  const first = firstAddress(bytes, prefixBits)
  if (first.some((byte, index) => byte !== bytes[index])) {
    const meant = networkText({ bytes: first, prefixBits })
    refuse(`"${text}" names an address in a network: write ${meant} for the network, or the address alone.`)
  }
  return { bytes, prefixBits }
}

/** IPv4 first, then by address, the larger network first. */
function compare(one: Network, other: Network): number {
  const byLength = one.bytes.length - other.bytes.length
  if (byLength !== 0) return byLength
  const index = one.bytes.findIndex((byte, place) => byte !== other.bytes[place])
  return index < 0 ? one.prefixBits - other.prefixBits : (one.bytes[index] ?? 0) - (other.bytes[index] ?? 0)
}

function refuse(message: string): never {
  throw new AppError(customerErrors.networkInvalid, { message })
}

import { AppError } from '#src/lib/app-error.ts'
import { message, type Text } from '#src/lib/messages/message.ts'
import { contains, EVERY_ADDRESS, isNetwork, type Network, networkText, readNetwork } from '#src/lib/net/network.ts'
import { joinNetworks, type Networks } from '#src/lib/net/networks.ts'
import { customerErrors } from './customer.errors.ts'

const MAX_NETWORKS = 100

/**
 * Checks a list of networks and returns it as it is stored: each one in its canonical spelling (RFC 5952), sorted, none twice. An
 * IPv4 network that is written as a part of `::ffff:0:0/96` becomes IPv4.
 */
export function checkNetworks(texts: readonly string[]): string[] {
  if (texts.length === 0) refuse('The list of networks is empty: write "anywhere" to allow every address.')
  const read = new Map(texts.map(checkNetwork).map((network) => [networkText(network), network]))
  if (read.size > MAX_NETWORKS) refuse(`A key has at most ${MAX_NETWORKS} networks, not ${read.size}.`)
  return [...read].sort(([, one], [, other]) => compare(one, other)).map(([text]) => text)
}

/** Compiles stored networks. */
export const compileNetworks = (stored: readonly string[]): Networks => joinNetworks(stored.map(checkNetwork))

/** Whether every address of a network lies in one of the others. */
export function isWithin(network: string, others: readonly string[]): boolean {
  const { bytes, prefixBits } = checkNetwork(network)
  return others.map(checkNetwork).some((other) => other.prefixBits <= prefixBits && contains(other, bytes))
}

function checkNetwork(text: string): Network {
  const network = readNetwork(text)
  if (isNetwork(network)) return network
  const wrong = JSON.stringify(text)
  if (network === EVERY_ADDRESS) refuse(message('ALLOW_EVERY_ADDRESS', { network: wrong }))
  return refuse(message('WRONG_NETWORK', { network: wrong, problem: network }))
}

/** IPv4 first, then by address, the larger network first. */
function compare(one: Network, other: Network): number {
  const byLength = one.bytes.length - other.bytes.length
  if (byLength !== 0) return byLength
  const index = one.bytes.findIndex((byte, place) => byte !== other.bytes[place])
  return index < 0 ? one.prefixBits - other.prefixBits : (one.bytes[index] ?? 0) - (other.bytes[index] ?? 0)
}

function refuse(message: Text): never {
  throw new AppError(customerErrors.networkInvalid, { message })
}

import { isIPv4, isIPv6 } from 'node:net'
import { AppError } from '#src/lib/app-error.ts'
import { customerErrors } from './customer.errors.ts'

/** Where an API key may be used from. */
export interface Networks {
  contain(address: string): boolean
}

interface Network {
  /** 4 or 16. */
  readonly bytes: readonly number[]
  readonly prefixBits: number
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
      const bytes = bytesOf(address)
      if (bytes === undefined || !networks.some((network) => holds(network, bytes))) return false
      last = address
      return true
    },
  }
}

/** Whether every address of a network lies in one of the others. */
export function isWithin(network: string, others: readonly string[]): boolean {
  const { bytes, prefixBits } = readNetwork(network)
  return others.map(readNetwork).some((other) => other.prefixBits <= prefixBits && holds(other, bytes))
}

const holds = ({ bytes, prefixBits }: Network, address: readonly number[]): boolean =>
  bytes.length === address.length &&
  bytes.every((byte, index) => (byte ^ (address[index] ?? 0)) >> hostBits(index, prefixBits) === 0)

/** How many of the eight bits of a byte lie beyond the prefix. */
const hostBits = (index: number, prefixBits: number): number => Math.min(8, Math.max(0, 8 * (index + 1) - prefixBits))

function readNetwork(text: string): Network {
  const [, address = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const bytes = bytesOf(address)
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
  const first = bytes.map((byte, index) => byte & (0xff << hostBits(index, prefixBits)))
  if (first.some((byte, index) => byte !== bytes[index])) {
    const meant = networkText({ bytes: first, prefixBits })
    refuse(`"${text}" names an address in a network: write ${meant} for the network, or the address alone.`)
  }
  return { bytes, prefixBits }
}

/** The bytes of an address, four for IPv4 that is mapped into IPv6; undefined for anything else. */
function bytesOf(text: string): number[] | undefined {
  if (isIPv4(text)) return text.split('.').map(Number)
  if (!isIPv6(text)) return undefined
  const [bare = ''] = text.split('%', 1)
  const [head = '', tail] = bare.split('::')
  const [front, back] = [groupBytes(head), groupBytes(tail ?? '')]
  const bytes = [...front, ...new Array<number>(16 - front.length - back.length).fill(0), ...back]
  const isMapped = bytes.slice(0, 12).join() === '0,0,0,0,0,0,0,0,0,0,255,255'
  return isMapped ? bytes.slice(12) : bytes
}

const groupBytes = (text: string): number[] =>
  text === ''
    ? []
    : text.split(':').flatMap((group) => {
        if (group.includes('.')) return group.split('.').map(Number)
        const value = Number.parseInt(group, 16)
        return [value >> 8, value & 0xff]
      })

function networkText({ bytes, prefixBits }: Network): string {
  const address = bytes.length === 4 ? bytes.join('.') : ipv6Text(bytes)
  return prefixBits === 8 * bytes.length ? address : `${address}/${prefixBits}`
}

/** URLs spell IPv6 addresses as RFC 5952 does. */
function ipv6Text(bytes: readonly number[]): string {
  const groups = bytes.flatMap((high, index) =>
    index % 2 === 0 ? [(high * 256 + (bytes[index + 1] ?? 0)).toString(16)] : [],
  )
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
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

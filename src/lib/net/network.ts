import { isIPv4, isIPv6 } from 'node:net'
import { type Message, message } from '../messages/message.ts'

/** All addresses with one prefix. */
export interface Network {
  /** 4 or 16. */
  readonly bytes: readonly number[]
  readonly prefixBits: number
}

export const contains = ({ bytes, prefixBits }: Network, address: readonly number[]): boolean =>
  bytes.length === address.length &&
  bytes.every((byte, index) => (byte ^ (address[index] ?? 0)) >> hostBits(index, prefixBits) === 0)

/** How many of the eight bits of a byte lie beyond the prefix. */
const hostBits = (index: number, prefixBits: number): number => Math.min(8, Math.max(0, 8 * (index + 1) - prefixBits))

/** The first address of a network. */
const firstAddress = (bytes: readonly number[], prefixBits: number): number[] =>
  bytes.map((byte, index) => byte & (0xff << hostBits(index, prefixBits)))

/** The bytes of an address, four for IPv4 that is mapped into IPv6; undefined for anything else. A zone id does not count. */
export function addressBytes(text: string): number[] | undefined {
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

/** Reads an address, or a prefix of any address in the network (`203.0.113.7/24`), or says what is wrong with it. */
export function readPrefix(text: string): Network | Message {
  const [, address = '', prefix] = /^([^/]*)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? []
  const bytes = addressBytes(address)
  if (bytes === undefined) return message('NOT_A_NETWORK')
  if (address.includes('%')) return message('ADDRESS_HAS_ZONE')
  const all = 8 * bytes.length
  const mapped = isIPv6(address) ? 128 - all : 0
  const prefixBits = prefix === undefined ? all : Number(prefix) - mapped
  if (prefixBits > all || prefixBits < 0) return message('PREFIX_LENGTH', { min: mapped + 1, max: mapped + all })
  return { bytes, prefixBits }
}

export const EVERY_ADDRESS = message('EVERY_ADDRESS')

export const isNetwork = (read: Network | Message): read is Network => 'bytes' in read

/** Reads an address, or a network by its first address, or says what is wrong with it. Every address is no network. */
export function readNetwork(text: string): Network | Message {
  const network = readPrefix(text)
  if (!isNetwork(network)) return network
  if (network.prefixBits === 0) return EVERY_ADDRESS
  const bytes = firstAddress(network.bytes, network.prefixBits)
  if (bytes.join() === network.bytes.join()) return network
  return message('ADDRESS_IN_NETWORK', { network: networkText({ ...network, bytes }) })
}

/** The canonical spelling (RFC 5952). */
export function networkText({ bytes, prefixBits }: Network): string {
  const address = bytes.length === 4 ? bytes.join('.') : ipv6Text(bytes)
  return prefixBits === 8 * bytes.length ? address : `${address}/${prefixBits}`
}

/** A text that every address of a network has in it, as short as nothing if there is none that is longer. */
export function commonText(network: Network): string {
  const { bytes, prefixBits } = network
  if (prefixBits === 8 * bytes.length) return networkText(network)
  if (bytes.length === 4)
    return bytes
      .slice(0, prefixBits >> 3)
      .map((byte) => `${byte}.`)
      .join('')
  const groups = groupsOf(bytes).slice(0, prefixBits >> 4)
  // Zeros may be left out.
  const zero = groups.indexOf('0')
  return groups
    .slice(0, zero < 0 ? groups.length : zero)
    .map((group) => `${group}:`)
    .join('')
}

const groupsOf = (bytes: readonly number[]): string[] =>
  bytes.flatMap((high, index) => (index % 2 === 0 ? [(high * 256 + (bytes[index + 1] ?? 0)).toString(16)] : []))

/** URLs spell IPv6 addresses as RFC 5952 does. */
function ipv6Text(bytes: readonly number[]): string {
  return new URL(`http://[${groupsOf(bytes).join(':')}]`).hostname.slice(1, -1)
}

const SUBSCRIBER_BITS = 64

/** Whoever asks for it gets the first 48 bits, which are 65,536 networks of 64. */
const SITE_BITS = 48

/** The network by which an unauthenticated caller is counted: an IPv4 address, or the first half of an IPv6 address, which is the least that providers assign. */
export function networkOf(address: string): string {
  if (isIPv4(address)) return address
  const bytes = addressBytes(address)
  return bytes?.length === 16 ? prefixText(bytes, SUBSCRIBER_BITS) : (bytes?.join('.') ?? address)
}

const NEIGHBOUR_BITS = 24

/** The network of an address and its neighbours: the /24 of an IPv4 address, the /64 of an IPv6 address. */
export function neighboursOf(address: string): string {
  const bytes = addressBytes(address)
  return bytes === undefined ? address : prefixText(bytes, bytes.length === 4 ? NEIGHBOUR_BITS : SUBSCRIBER_BITS)
}

/** The /48 of an IPv6 address. */
export function siteOf(address: string): string | undefined {
  const bytes = addressBytes(address)
  return bytes?.length === 16 ? prefixText(bytes, SITE_BITS) : undefined
}

const prefixText = (bytes: readonly number[], prefixBits: number): string =>
  networkText({ bytes: firstAddress(bytes, prefixBits), prefixBits })

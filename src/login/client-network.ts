import { addressBytes, firstAddress, networkText } from '#src/lib/net/network.ts'

/** A provider gives one subscriber at least the first 64 bits of an IPv6 address. */
const SUBSCRIBER_BITS = 64

/** Whoever asks for it gets the first 48 bits, which are 65,536 networks of 64. */
const SITE_BITS = 48

export interface ClientNetworks {
  /** The unit of counting failures: an IPv4 address (also in IPv6 notation), or the /64 of an IPv6 address. */
  readonly network: string
  /** The /48 of an IPv6 address. */
  readonly site?: string
}

export function clientNetworks(address: string): ClientNetworks {
  const bytes = addressBytes(address)
  if (bytes === undefined) return { network: address }
  const prefix = (prefixBits: number) => networkText({ bytes: firstAddress(bytes, prefixBits), prefixBits })
  return bytes.length === 4 ? { network: prefix(32) } : { network: prefix(SUBSCRIBER_BITS), site: prefix(SITE_BITS) }
}

import { type HostPort, readHostPort } from '#src/lib/net/host-port.ts'
import { addressBytes, contains, isNetwork, type Network, readNetwork } from '#src/lib/net/network.ts'

/** Where a connection goes. */
export interface Place {
  readonly host: string
  readonly port: number
  readonly isSecure: boolean
}

/** Decides where webhooks may be sent. */
export type AddressRule = ReturnType<typeof createAddressRule>

export const defaultPort = (isSecure: boolean): number => (isSecure ? 443 : 80)

const networks = (...texts: string[]): Network[] => texts.map(readNetwork).filter(isNetwork)

/** IPv4 that is not public, by the registry of special addresses of IANA, and an address at which Azure serves metadata. */
const PRIVATE_IPV4 = networks(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
)

const PUBLIC_IPV6 = networks('2000::/3')

/** Not public, or tunnels that lead to an IPv4 address: Teredo lies in the first network, 6to4 is the third one. */
const PRIVATE_IPV6 = networks('2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20')

/** Names that hosts have only in IPv4 get such addresses in networks without IPv4 (NAT64). The last four bytes are the IPv4 address. */
const NAT64 = networks('64:ff9b::/96')

const lieIn = (some: readonly Network[], bytes: readonly number[]): boolean =>
  some.some((network) => contains(network, bytes))

/** Takes what the setting TESLIM_WEBHOOK_ALLOW was read as. An item without a port means the default port only. */
export function createAddressRule(allow: readonly string[]) {
  const items = allow.map((text) => readHostPort(text)).filter((item) => item !== undefined)
  const named = items.map((item) => ({ ...item, networks: networks(item.host) }))
  const isPort = ({ port }: HostPort, place: Omit<Place, 'host'>): boolean =>
    place.port === (port ?? defaultPort(place.isSecure))
  const isNamed = (bytes: readonly number[], place: Omit<Place, 'host'>): boolean => {
    const some = named.filter((item) => isPort(item, place)).flatMap((item) => item.networks)
    return lieIn(some, bytes) || lieIn(some, behindNat64(bytes))
  }
  return {
    /** Whether TESLIM_WEBHOOK_ALLOW names the host and the port of a URL: a name itself, an address by a network. */
    names(place: Place) {
      const bytes = addressBytes(place.host)
      return bytes === undefined
        ? items.some((item) => item.host === place.host && isPort(item, place))
        : isNamed(bytes, place)
    },
    /** Whether a connection to this place may go to this address. */
    allows(address: string, place: Omit<Place, 'host'>) {
      const bytes = addressBytes(address)
      return bytes !== undefined && (isNamed(bytes, place) || isPublic(behindNat64(bytes)))
    },
  }
}

const isPublic = (bytes: readonly number[]): boolean =>
  bytes.length === 4 ? !lieIn(PRIVATE_IPV4, bytes) : lieIn(PUBLIC_IPV6, bytes) && !lieIn(PRIVATE_IPV6, bytes)

const behindNat64 = (bytes: readonly number[]): readonly number[] => (lieIn(NAT64, bytes) ? bytes.slice(12) : bytes)

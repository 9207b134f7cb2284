import { EVERY_ADDRESS, type Network, networkText, readNetwork } from '#src/lib/net/network.ts'

const items = (written: string): string[] => written.split(',').map((item) => item.trim())

const isNetwork = (read: Network | string): read is Network => typeof read !== 'string'

/** Accepts addresses and networks, and returns them in canonical form. */
export function readOperatorNetworks(written: string): readonly string[] | undefined {
  const networks = items(written).map(readNetwork)
  return networks.every(isNetwork) ? [...new Set(networks.map(networkText))] : undefined
}

/** Says what is wrong with the first item that is no network. */
export function wrongOperatorNetworks(written: string): string | undefined {
  for (const item of items(written)) {
    const read = readNetwork(item)
    if (typeof read !== 'string') continue
    return `${JSON.stringify(item)} ${read}${read === EVERY_ADDRESS ? ': leave the setting out for that' : ''}`
  }
  return undefined
}

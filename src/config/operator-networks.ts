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
  const wrong = items(written).find((item) => !isNetwork(readNetwork(item)))
  if (wrong === undefined) return undefined
  const why = readNetwork(wrong)
  return `${JSON.stringify(wrong)} ${why}${why === EVERY_ADDRESS ? ': leave the setting out for that' : ''}`
}

import { textOf } from '#src/lib/messages/message.ts'
import { EVERY_ADDRESS, isNetwork, networkText, readNetwork } from '#src/lib/net/network.ts'

const items = (written: string): string[] => written.split(',').map((item) => item.trim())

/** Accepts addresses and networks, and returns them in canonical form. */
export function readOperatorNetworks(written: string): readonly string[] | undefined {
  const networks = items(written).map(readNetwork)
  return networks.every(isNetwork) ? [...new Set(networks.map(networkText))] : undefined
}

/** Says what is wrong with the first item that is no network. */
export function wrongOperatorNetworks(written: string): string | undefined {
  for (const item of items(written)) {
    const read = readNetwork(item)
    if (isNetwork(read)) continue
    return `${JSON.stringify(item)} ${textOf(read)}${read === EVERY_ADDRESS ? ': leave the setting out for that' : ''}`
  }
  return undefined
}

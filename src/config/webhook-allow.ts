import { isHostName } from '#src/lib/net/host-name.ts'
import { networkText, readNetwork } from '#src/lib/net/network.ts'

/** Accepts host names, addresses and networks, and returns them as they are compared: names in lower case, networks in canonical form. */
export function readWebhookAllow(written: string): readonly string[] | undefined {
  const items = written.split(',').map((item) => readItem(item.trim()))
  return items.every((item) => item !== undefined) ? [...new Set(items)] : undefined
}

function readItem(text: string): string | undefined {
  const network = readNetwork(text)
  if (typeof network !== 'string') return networkText(network)
  const name = text.toLowerCase()
  return isHostName(name) ? name : undefined
}

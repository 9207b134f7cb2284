import { isHostName } from '#src/lib/net/host-name.ts'
import { hostPortText, readHostPort } from '#src/lib/net/host-port.ts'
import { isNetwork, networkText, readNetwork } from '#src/lib/net/network.ts'

/**
 * Accepts host names, addresses and networks, each with a port or without, and returns them as they are compared: names in lower case,
 * networks in canonical form.
 */
export function readWebhookAllow(written: string): readonly string[] | undefined {
  const items = written.split(',').map((item) => readItem(item.trim()))
  return items.every((item) => item !== undefined) ? [...new Set(items)] : undefined
}

/** Names the first item that is wrong, and how it is written. */
export function wrongWebhookAllow(written: string): string | undefined {
  const wrong = written.split(',').find((item) => readItem(item.trim()) === undefined)
  if (wrong === undefined) return undefined
  const meant = readItem(/^https?:\/\/([^/]*)/i.exec(wrong.trim())?.[1] ?? '')
  return `${JSON.stringify(wrong)} is neither${meant === undefined ? '' : `, did you mean ${meant}?`}`
}

function readItem(text: string): string | undefined {
  const { host = '', port } = readHostPort(text) ?? {}
  const network = readNetwork(host)
  if (isNetwork(network)) return hostPortText({ host: networkText(network), port })
  const name = host.toLowerCase()
  return isHostName(name) ? hostPortText({ host: name, port }) : undefined
}

import { lookup } from 'node:dns/promises'
import type { AddressInfo } from 'node:net'
import type { App } from '#src/app.ts'
import type { Config } from '#src/config/load-config.ts'
import { hostOf, isFor, namesOf } from '#src/lib/certificate.ts'
import { cannotListen } from '#src/lib/net/cannot-listen.ts'
import { reachableHost, urlHost } from '#src/lib/net/reachable-host.ts'
import { shellWord } from '#src/lib/printable.ts'

/** Listens on one address only: for a name with two, Fastify would open a second server without our limits. */
export async function listen(app: App, { host, port, maxConnections }: Config): Promise<AddressInfo> {
  try {
    const { address } = await lookup(host, { order: 'ipv4first' })
    await app.listen({
      host: address,
      port,
      backlog: maxConnections,
      listenTextResolver: (url: string) => `listening on ${url}`,
    })
    return app.server.address() as AddressInfo
  } catch (error) {
    throw cannotListen(error, `${host}:${port}`, 'PORT')
  }
}

/** How this machine reaches the server: with TLS, a URL that its certificate is valid for. */
export function reach({ tls }: App, address: string, port: number) {
  const host = reachableHost(address)
  if (tls === null) return { url: `http://${urlHost(host)}:${port}`, curlOptions: '' }
  const { own, path } = tls.certificate()
  const name = isFor(own, host) ? host : hostOf(namesOf(own)[0] ?? host)
  const there = name === host ? '' : ` --connect-to ::${urlHost(host)}:`
  // Trusts exactly this certificate, whoever issued it.
  return { url: `https://${urlHost(name)}:${port}`, curlOptions: ` --cacert ${shellWord(path)}${there}` }
}

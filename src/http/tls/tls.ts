import type { Socket } from 'node:net'
import { isIP } from 'node:net'
import type { Server } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { type Certificate, readCertificate, subjectOf, TLS_LIMITS } from './certificate.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Null if TLS is off. */
    readonly tls: Tls | null
  }
}

export interface Tls {
  /** Reads the files again, for new connections. Unusable files change nothing. */
  reload(): void
  /** Ends every connection at once, including those in their handshake. */
  cutOff(): void
  /** How this machine reaches the server: a URL that the certificate is valid for. */
  reach(host: string, port: number): { readonly url: string; readonly curlOptions: string }
}

export function installTls(app: FastifyInstance, config: Config, clock: Clock, first: Certificate | null): void {
  if (first === null) {
    app.decorate('tls', null)
    return
  }
  const server = app.server as unknown as Server
  let current = first

  // Node lists a connection only after its handshake.
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })

  const tell = (): void => {
    const { own, path, warnings } = current
    const certificate = {
      path,
      subject: subjectOf(own),
      names: own.subjectAltName,
      serialNumber: own.serialNumber,
      expires: new Date(own.validTo).toISOString(),
    }
    app.log.info({ certificate }, 'this TLS certificate is in use')
    for (const warning of warnings) app.log.warn(warning)
  }

  app.decorate('tls', {
    reload() {
      try {
        const read = readCertificate(config, clock.now()) as Certificate
        server.setSecureContext(secureContext(read))
        current = read
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        app.log.error(`${error.message}; the certificate from before stays in use`)
      }
      tell()
    },
    cutOff() {
      for (const socket of open) socket.destroy()
    },
    reach(host, port) {
      const name = nameFor(current, host)
      const there = name === host ? '' : ` --connect-to ::${bracketed(host)}:`
      return {
        url: `https://${bracketed(name)}:${port}`,
        // Trusts exactly this certificate, whoever issued it.
        curlOptions: ` --cacert ${shellQuoted(current.path)}${there}`,
      }
    },
  })
  app.addHook('onListen', async () => tell())
}

export const secureContext = ({ chain, privateKey }: Certificate) => ({ cert: chain, key: privateKey, ...TLS_LIMITS })

/** Returns the host if the certificate names it, else the first name in the certificate. */
function nameFor({ own }: Certificate, host: string): string {
  if (isIP(host) ? own.checkIP(host) : own.checkHost(host)) return host
  const [, named] = /(?:DNS|IP Address):([A-Za-z0-9.:*_-]+)/.exec(own.subjectAltName ?? '') ?? []
  const [, common] = /^CN=([A-Za-z0-9.*_-]+)$/m.exec(own.subject ?? '') ?? []
  return (named ?? common ?? host).replace(/^\*/, 'teslim')
}

const bracketed = (host: string): string => (isIP(host) === 6 ? `[${host}]` : host)
const shellQuoted = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`)

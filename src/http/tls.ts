import type { Server as HttpServer } from 'node:http'
import type { Socket } from 'node:net'
import type { Server, TLSSocket } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import { type Certificate, readCertificate, subjectOf, TLS_LIMITS, whyWorse } from '#src/lib/certificate.ts'
import type { Clock } from '#src/lib/clock.ts'
import { carrierOf } from './connections/node-internals.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Null if TLS is off. */
    readonly tls: ReturnType<typeof installTls>
  }
}

export function installTls(app: FastifyInstance, config: Config, clock: Clock, first: Certificate | null) {
  if (first === null) {
    app.decorate('tls', null)
    return null
  }
  const server = app.server as unknown as Server
  let current = first

  const inHandshake = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    inHandshake.add(socket)
    socket.once('close', () => inHandshake.delete(socket))
  })
  server.on('secureConnection', (socket: TLSSocket) => void inHandshake.delete(carrierOf(socket)))

  const logCertificate = (): void => {
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

  const logUnchanged = (why: string): void => app.log.error(`${why}; the certificate from before stays in use`)

  app.addHook('onListen', async () => logCertificate())
  const tls = {
    /** Reads the files again, for new connections. An unusable certificate, or one worse than the current one, changes nothing. */
    reload(): void {
      try {
        const read = readCertificate(config, clock.now()) as Certificate
        const worse = whyWorse(read, current, clock.now())
        if (worse === undefined) {
          server.setSecureContext(secureContext(read))
          if (Date.parse(read.own.validTo) < Date.parse(current.own.validTo)) {
            app.log.warn(`TESLIM_TLS_CERT ${read.path} expires before the certificate that was in use`)
          }
          current = read
        } else logUnchanged(`TESLIM_TLS_CERT ${read.path}: ${worse}`)
      } catch (error) {
        logUnchanged((error as Error).message)
      }
      logCertificate()
    },
    /** Ends the connections that are still in their handshake; Node lists them only after it. */
    endHandshakes(): void {
      for (const socket of inHandshake) socket.destroy()
    },
    /** The certificate in use. */
    certificate: (): Certificate => current,
  }
  app.decorate('tls', tls)
  return tls
}

/** Calls back for each connection; with TLS once its handshake is complete, as nothing can be answered before. */
export const onConnection = (server: HttpServer, work: (socket: Socket) => void): void =>
  void server.on('setSecureContext' in server ? 'secureConnection' : 'connection', work)

export const secureContext = ({ chain, privateKey }: Certificate) => ({ cert: chain, key: privateKey, ...TLS_LIMITS })

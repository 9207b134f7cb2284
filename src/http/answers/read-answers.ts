import type { FastifyInstance, FastifyReply, onSendHookHandler, preHandlerHookHandler } from 'fastify'
import { preferredCoding } from './accept-encoding.ts'
import { createCompression } from './compression.ts'
import { namesTag, weakTag } from './entity-tags.ts'
import { installHeldAnswers } from './held-answers.ts'
import { keptAnswer } from './kept-answers.ts'
import { addVary } from './vary.ts'

/** Smaller answers fit into one packet anyway. */
const MIN_BYTES = 1024

const tagged = new WeakSet<FastifyReply>()

/** Gives the answer a weak ETag. For what stays the same, byte for byte, until something in it changes. */
export const tagAnswer = (reply: FastifyReply): void => void tagged.add(reply)

/**
 * Keeps the answer uncompressed, also in proxies that obey. For an answer with data of several customers: its compressed length would
 * tell one of them, who watches the network, whether what it delivered occurs in the data of another (BREACH).
 */
export const keepUncompressed = (reply: FastifyReply): void =>
  void reply.header('cache-control', 'no-store, no-transform')

/** Answers `If-None-Match`, and compresses, for GET and HEAD only: other routes do not pay for it. */
export function installReadAnswers(app: FastifyInstance, isStrained: () => boolean): void {
  const { compress } = createCompression(isStrained)
  const { check, held } = installHeldAnswers(app)

  const refuseUnread: preHandlerHookHandler = (request, _reply, done) => {
    check(request)
    done()
  }

  const finish: onSendHookHandler<unknown> = (request, reply, payload, done) => {
    const { headers, method } = request
    const send = (content: string | Buffer, isShared: boolean): void => {
      try {
        done(null, method === 'HEAD' ? content : held(request, reply, content, isShared))
      } catch (error) {
        for (const name of ['content-encoding', 'etag']) reply.removeHeader(name)
        done(error as Error)
      }
    }
    if (reply.statusCode !== 200 || !isContent(payload)) return done(null, payload)
    const kept = keptAnswer(payload)
    const mayCompress = !String(reply.getHeader('cache-control')).includes('no-transform')
    if (mayCompress) addVary(reply, 'Accept-Encoding')
    if (tagged.has(reply)) {
      const tag = kept?.tag ?? weakTag(payload)
      if (tag !== undefined) reply.header('etag', tag)
      if (tag !== undefined && namesTag(headers['if-none-match'], tag)) {
        reply.code(304).removeHeader('content-type')
        // Fastify would give the 304 to a GET the length of an empty text.
        return done(null, method === 'HEAD' ? '' : null)
      }
    }
    const { coding, refusesPlain } = preferredCoding(headers['accept-encoding'])
    const isSmall = payload.length < MIN_BYTES && Buffer.byteLength(payload) < MIN_BYTES
    if (!mayCompress || coding === undefined || (isSmall && !refusesPlain)) return send(payload, kept !== undefined)
    const packing =
      kept?.packed[coding]() ?? compress(typeof payload === 'string' ? Buffer.from(payload) : payload, coding)
    if (packing === undefined) return send(payload, kept !== undefined)
    packing.then((packed) => {
      reply.header('content-encoding', coding)
      send(packed, kept !== undefined)
    }, done)
  }

  app.addHook('onRoute', (route) => {
    const methods = [route.method].flat()
    if (!methods.includes('GET') && !methods.includes('HEAD')) return
    if (!route.config?.answeredAlways) route.preHandler = [refuseUnread, ...[route.preHandler ?? []].flat()]
    const others = [route.onSend ?? []].flat()
    // Fastify's own hook for HEAD measures what would be sent.
    route.onSend = methods.includes('HEAD') ? [finish, ...others, withoutLength] : [finish, ...others]
  })
}

const isContent = (payload: unknown): payload is string | Buffer =>
  typeof payload === 'string' || Buffer.isBuffer(payload)

/** A length in a 304 would be that of the answer that the client has. */
const withoutLength: onSendHookHandler<unknown> = (_request, reply, payload, done) => {
  if (reply.statusCode === 304) reply.removeHeader('content-length')
  done(null, payload)
}

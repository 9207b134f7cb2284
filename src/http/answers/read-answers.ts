import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler, preHandlerHookHandler } from 'fastify'
import { AppError } from '#src/lib/app-error.ts'
import { keptWork } from '#src/lib/shared-work.ts'
import { budgetOwner, type Reservation } from '../body/budget.ts'
import { disconnect } from '../connections/unread.ts'
import { addVary } from '../envelope.ts'
import { httpErrors } from '../http.errors.ts'
import { CODINGS, type Coding, compressWell, createCompression, preferredCoding } from './accept.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** How many bytes an answer may have. */
    availableForAnswer(request: FastifyRequest): number
    /** Reserves memory for an answer of about that many bytes before it is made. Throws if there is none. */
    reserveAnswer(request: FastifyRequest, bytes: number): void
  }
  interface FastifyRequest {
    /** The memory of the answer until it is read; released when the request ends. */
    answerReservation: Reservation | null
  }
}

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

/** Lets whoever sees these bytes compare them (RFC 9530). They stay uncompressed: the digest would else be that of the coded bytes. */
export function addDigest(reply: FastifyReply, bytes: Uint8Array): void {
  keepUncompressed(reply)
  void reply.header('repr-digest', `sha-256=:${hash('sha256', bytes, 'base64')}:`)
}

/** What never changes while the process runs: its tag, and its compressed forms, each made when first asked for. */
interface KeptAnswer {
  readonly tag: string | undefined
  readonly packed: Readonly<Record<Coding, () => Promise<Buffer>>>
}

const keptAnswers = new WeakMap<object, KeptAnswer>()

/** Makes an answer that a route sends again and again: it is hashed and compressed once. */
export function keepAnswer(text: string): Buffer {
  const content = Buffer.from(text)
  const packed = CODINGS.map((coding) => [coding, keptWork(() => compressWell(content, coding))])
  keptAnswers.set(content, { tag: weakTag(content), packed: Object.fromEntries(packed) })
  return content
}

/** Answers `If-None-Match`, and compresses, for GET and HEAD only: other routes do not pay for it. */
export function installReadAnswers(app: FastifyInstance, isOverloaded: () => boolean): void {
  const compress = createCompression(isOverloaded)
  const { check, held } = installAnswerBudget(app)

  const refuseUnread: preHandlerHookHandler = (request, _reply, done) => {
    check(request)
    done()
  }

  const finish: onSendHookHandler<unknown> = (request, reply, payload, done) => {
    const { headers, method } = request
    if (reply.statusCode !== 200 || !isContent(payload)) return done(null, payload)
    const kept = typeof payload === 'string' ? undefined : keptAnswers.get(payload)
    const send = (content: string | Buffer): void => {
      try {
        done(null, method === 'HEAD' ? content : held(request, reply, content, kept !== undefined))
      } catch (error) {
        for (const name of ['content-encoding', 'etag']) reply.removeHeader(name)
        done(error as Error)
      }
    }
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
    if (!mayCompress || coding === undefined || (isSmall && !refusesPlain)) return send(payload)
    const packing =
      kept?.packed[coding]() ?? compress(typeof payload === 'string' ? Buffer.from(payload) : payload, coding)
    if (packing === undefined) return send(payload)
    packing.then((packed) => {
      reply.header('content-encoding', coding)
      send(packed)
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

/** Hashing a larger answer would hold up the event loop for more than a millisecond. */
const MAX_TAGGED_BYTES = 1024 * 1024

/**
 * Makes a weak entity tag (RFC 9110, 8.8.3): it stays the same whatever the content coding. Returns undefined for an answer that is
 * too large to hash.
 */
export function weakTag(content: string | Uint8Array): string | undefined {
  if (content.length > MAX_TAGGED_BYTES) return undefined
  return `W/"${hash('sha256', content, 'base64url').slice(0, 22)}"`
}

/** An element of a list: nothing, or a tag, whose text may contain commas. */
const ELEMENT = /[ \t]*(?:(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(?:,|$)/y

/** Whether an `If-None-Match` header names the tag, by weak comparison. Says no to a header that is malformed up to there. */
export function namesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  const wanted = opaque(tag)
  ELEMENT.lastIndex = 0
  while (ELEMENT.lastIndex < ifNoneMatch.length) {
    const element = ELEMENT.exec(ifNoneMatch)
    if (element === null) return false
    if (element[1] === wanted) return true
  }
  return false
}

const opaque = (tag: string): string => tag.slice(tag.indexOf('"') + 1, -1)

/** Smaller answers mostly fit into what the system holds for a connection. */
const LARGE_BYTES = 65_536
const RETRY_SECONDS = 2

/** Created once: capturing a stack trace costs more than the rest of a refusal. */
const TOO_MUCH_UNREAD = new AppError(httpErrors.answersOverloaded, { retryAfterSeconds: RETRY_SECONDS })

/** Large answers count against the budget until they are read: a client that does not read what it asked for gets no more. */
function installAnswerBudget(app: FastifyInstance) {
  const reserve = (request: FastifyRequest, bytes: number): boolean => {
    const { socket } = request.raw
    // Nothing would release the memory.
    if (socket.destroyed) return true
    request.answerReservation = app.bodyBudget.answers.reserve(budgetOwner(request), () => disconnect(socket))
    return request.answerReservation.extend(bytes)
  }

  app.decorateRequest('answerReservation', null)
  app.decorate('availableForAnswer', (request) => app.bodyBudget.answers.available(budgetOwner(request)))
  app.decorate('reserveAnswer', (request, bytes) => {
    if (bytes > LARGE_BYTES && !reserve(request, bytes)) throw TOO_MUCH_UNREAD
  })

  return {
    /** Refuses a request whose caller may not reserve a large answer, before anything is read for it. */
    check(request: FastifyRequest): void {
      if (!app.bodyBudget.answers.canReserve(budgetOwner(request), LARGE_BYTES)) throw TOO_MUCH_UNREAD
    },

    /** What to send for content that waits in memory until it is read, which `isShared` content does anyway. */
    held(request: FastifyRequest, reply: FastifyReply, content: string | Buffer, isShared: boolean) {
      // An answer without a connection waits for those to earlier requests of the same client.
      const isWaiting = reply.raw.socket === null
      if (content.length <= LARGE_BYTES && !isWaiting) return content
      const bytes = typeof content === 'string' ? Buffer.from(content) : content
      if (!isShared && request.answerReservation === null && !reserve(request, bytes.length)) throw TOO_MUCH_UNREAD
      if (bytes.length <= LARGE_BYTES) return bytes
      reply.header('content-length', bytes.length)
      return inPieces(bytes)
    },
  }
}

/** Sends only as much as the client takes: all at once would wait in the connection, encrypted a second time. */
function inPieces(bytes: Buffer): Readable {
  let sent = 0
  return new Readable({
    highWaterMark: LARGE_BYTES,
    read() {
      const piece = bytes.subarray(sent, sent + LARGE_BYTES)
      sent += piece.length
      this.push(piece.length === 0 ? null : piece)
    },
  })
}

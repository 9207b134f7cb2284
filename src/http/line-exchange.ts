import type { FastifyReply } from 'fastify'
import { AppError } from '#src/lib/app-error.ts'
import { type BodyPool, budgetOwner, type Reservation } from './body/budget.ts'
import { onBroken } from './connections/broken-request.ts'
import { lingerAtEnd, stopReadingWhenPaused } from './connections/node-internals.ts'
import { httpErrors } from './http.errors.ts'

/** A body that is read piece by piece while the answer is written. */
export type LineExchange = ReturnType<typeof openLineExchange>

export interface LineExchangeOptions {
  readonly contentType: string
  /** How long the client may take to send a line. */
  readonly patienceMilliseconds: number
  readonly pool: BodyPool
}

/** Beyond this, the connection is not read. */
const MAX_UNREAD_BYTES = 65_536
const MAX_UNREAD_PIECES = 256

/** Sends the head of the answer with its first line, as clients may wait for 100 before they send their body. */
export function openLineExchange(reply: FastifyReply, options: LineExchangeOptions) {
  const { contentType, patienceMilliseconds, pool } = options
  const { raw: response, request } = reply
  const { raw: body } = request
  reply.hijack()
  request.isStream = true
  stopReadingWhenPaused(body)

  let pieces: Buffer[] = []
  let unread = 0
  let ended = body.readableEnded
  let gone = response.destroyed
  let reason: AppError | undefined
  let waited = 0
  let reservedBytes = 0
  let reservedLine = 0
  let reservation: Reservation | undefined
  let change = Promise.withResolvers<void>()

  const announce = (): void => {
    change.resolve()
    change = Promise.withResolvers()
  }
  const endFor = (error: AppError): void => {
    reason ??= error
    announce()
  }
  const onData = (piece: Buffer): void => {
    pieces.push(piece)
    unread += piece.length
    if (unread >= MAX_UNREAD_BYTES || pieces.length >= MAX_UNREAD_PIECES) body.pause()
    announce()
  }
  const markGone = (): void => {
    gone = true
    pieces = []
    reservation?.release()
    announce()
  }
  const cut = (): void => {
    markGone()
    response.destroy()
  }
  // What was taken is answered even if the rest is not HTTP.
  onBroken(body, (definition) => endFor(new AppError(definition)))
  body.on('data', onData)
  body.on('end', () => {
    ended = true
    announce()
  })
  body.on('error', markGone)
  body.on('close', () => {
    if (!ended) markGone()
  })
  response.on('error', () => response.destroy())
  response.on('close', markGone)

  const check = (): void => {
    if (reason !== undefined) throw reason
  }

  /** Counts the bytes of an unfinished line among all bodies. */
  const reserve = (pending: number, number: number): void => {
    if (number !== reservedLine) {
      reservation?.release()
      reservation = undefined
      reservedBytes = 0
      reservedLine = number
      waited = 0
    }
    if (pending <= reservedBytes) return
    reservation ??= pool.reserve(budgetOwner(request), () => endFor(new AppError(httpErrors.bodiesOverloaded)))
    if (!reservation.extend(pending - reservedBytes)) endFor(new AppError(httpErrors.bodiesOverloaded))
    reservedBytes = pending
  }

  const waitForChange = async (milliseconds: number): Promise<void> => {
    const timer = setTimeout(announce, Math.max(0, milliseconds))
    await change.promise
    clearTimeout(timer)
  }

  const writeHead = (): void => {
    if (response.headersSent) return
    response.writeHead(200, { ...reply.getHeaders(), 'content-type': contentType } as never)
  }

  return {
    /**
     * Resolves to the next piece; undefined at the end of the body, or if the client has disconnected. Rejects if no line ends in time,
     * if the budget has no memory for one, or after `endFor`. `pending` bytes are held of line `number`, which has not ended.
     */
    async next(pending: number, number: number) {
      reserve(pending, number)
      if (pieces.length === 0) body.resume()
      while (pieces.length === 0 && !ended && !gone) {
        check()
        const begun = performance.now()
        await waitForChange(patienceMilliseconds - waited)
        waited += performance.now() - begun
        if (waited >= patienceMilliseconds && pieces.length === 0 && !ended)
          endFor(new AppError(httpErrors.requestTimeout))
      }
      check()
      const all = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)
      const isEnd = pieces.length === 0
      pieces = []
      unread = 0
      return isEnd || gone ? undefined : all
    },
    /** Throws what `next` would reject with. */
    check,
    isGone: () => gone,
    async pause(milliseconds: number) {
      if (reason === undefined && !gone) await waitForChange(milliseconds)
    },
    /** Resolves to false if the client has disconnected, or was cut off because it read too little. */
    write(text: string) {
      if (gone) return false
      writeHead()
      if (response.write(text)) return true
      return drained()
    },
    end(text: string) {
      reservation?.release()
      if (gone) {
        response.destroy()
        return
      }
      const { socket } = body
      if (!ended) {
        // What still arrives is dropped until the client has read the answer.
        response.shouldKeepAlive = false
        lingerAtEnd(socket)
        body.off('data', onData).resume()
      }
      writeHead()
      response.end(text, () => {
        if (!ended) socket.destroySoon()
      })
    },
    /** Disconnects the client. */
    cut,
    /** Makes the exchange end for this reason, unless it ends for another one already. */
    endFor,
  }

  async function drained(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const onDrain = (): void => resolve(true)
    const onClose = (): void => resolve(false)
    response.once('drain', onDrain).once('close', onClose)
    const isOpen = await promise
    response.off('drain', onDrain).off('close', onClose)
    return isOpen
  }
}

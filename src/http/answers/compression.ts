import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Coding } from '../accept.ts'

/** Password hashing and reading files need the same four threads: so much keeps two cores busy for 0.2 s. */
const MAX_BYTES_AT_ONCE = 10 * 1024 * 1024
/** More than one for each thread, as a turn of the event loop makes several answers. */
const MAX_AT_ONCE = 32

const QUICK = { gzip: 5, br: 3 }
const BEST = { gzip: constants.Z_BEST_COMPRESSION, br: constants.BROTLI_MAX_QUALITY }

const inGzip = promisify(gzip)
const inBrotli = promisify(brotliCompress)

/**
 * Makes a function that compresses in threads, a limited number of answers at once; none waits for others to end. It returns undefined
 * where the answer has to be sent as it is.
 */
export function createCompression(isOverloaded: () => boolean) {
  let running = 0
  let bytes = 0

  return (content: Uint8Array, coding: Coding): Promise<Buffer> | undefined => {
    if (running >= MAX_AT_ONCE || bytes + content.length > MAX_BYTES_AT_ONCE || isOverloaded()) return undefined
    running++
    bytes += content.length
    return packed(content, coding, QUICK).finally(() => {
      running--
      bytes -= content.length
    })
  }
}

/** Compresses as well as possible, which takes a hundred times as long: for what is kept. */
export const compressWell = (content: Uint8Array, coding: Coding): Promise<Buffer> => packed(content, coding, BEST)

const packed = (content: Uint8Array, coding: Coding, levels: Readonly<Record<Coding, number>>): Promise<Buffer> => {
  if (coding === 'gzip') return inGzip(content, { level: levels.gzip })
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: levels.br,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  }
  return inBrotli(content, { params })
}

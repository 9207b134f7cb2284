import type { IncomingMessage } from 'node:http'

/**
 * Makes a body that is paused stop its connection with the first piece that nobody takes. Node would go on until 64 KiB wait, and of
 * bytes that come one by one each would wait as a buffer of its own.
 */
export function stopReadingWhenPaused(body: IncomingMessage): void {
  const { _readableState: state } = body as unknown as { readonly _readableState: { highWaterMark: number } }
  state.highWaterMark = 1
}

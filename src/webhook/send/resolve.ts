import { lookup } from 'node:dns/promises'

/** Resolves a name to all its addresses. */
export type Resolve = (host: string) => Promise<readonly string[]>

/** Asks as every program on this machine does, /etc/hosts included. */
export const systemResolve: Resolve = async (host) =>
  (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address)

/** Rejects as soon as the signal aborts, because a look-up cannot be cancelled. */
export async function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

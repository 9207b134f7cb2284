import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { atTheEnd } from '../at-the-end.ts'

/** Stands between clients and a server, and fails them as a network does. */
export interface TcpProxy {
  readonly port: number
  readonly url: string
  /** Resets all connections; new ones are reset, too. */
  break(): void
  /** Passes nothing on, without a word. New connections are taken and lead nowhere. */
  stall(): void
  /** As an address that leads to another machine from now on: new connections work, those of before get no word. */
  forget(): void
  /** New connections work. Those of before that got no word are reset, as by a network that has forgotten them. */
  mend(): void
}

/** Returns how many bytes of a piece may pass: fewer than it has end its connection with a reset, on both sides. */
type Allow = (piece: Buffer, from: 'client' | 'server') => number

interface Pair {
  readonly client: Socket
  readonly upstream: Socket | undefined
  isSilent: boolean
}

/** Ends with the test, or the test file. The server may come and go: where there is none, connections are reset. */
export async function startTcpProxy(
  target: string | (() => string | undefined),
  allow: Allow = ({ length }) => length,
): Promise<TcpProxy> {
  const targetNow = typeof target === 'string' ? () => target : target
  const pairs = new Set<Pair>()
  let state: 'passing' | 'broken' | 'stalled' = 'passing'

  const reset = ({ client, upstream }: Pair): void => {
    client.resetAndDestroy()
    upstream?.resetAndDestroy()
  }
  const silence = (pair: Pair): void => {
    pair.isSilent = true
    pair.client.pause()
    pair.upstream?.pause()
  }
  const pass = (pair: Pair, from: Socket, to: Socket): void => {
    from.on('end', () => to.end())
    from.on('data', (piece: Buffer) => {
      const allowed = allow(piece, from === pair.client ? 'client' : 'server')
      const isDrained = to.write(piece.subarray(0, allowed))
      if (allowed < piece.length) reset(pair)
      else if (!isDrained) {
        from.pause()
        to.once('drain', () => pair.isSilent || from.resume())
      }
    })
  }

  const server = createServer((client) => {
    const to = targetNow()
    if (state === 'broken' || to === undefined) return void client.resetAndDestroy()
    const upstream = state === 'stalled' ? undefined : connect(Number(new URL(to).port), '127.0.0.1')
    const pair: Pair = { client, upstream, isSilent: false }
    pairs.add(pair)
    client
      .on('error', () => undefined)
      .on('close', () => {
        upstream?.destroy()
        pairs.delete(pair)
      })
    if (upstream === undefined) return silence(pair)
    upstream.on('error', () => undefined).on('close', () => pair.isSilent || client.destroy())
    pass(pair, client, upstream)
    pass(pair, upstream, client)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  atTheEnd(() => {
    server.close()
    pairs.forEach(reset)
  })

  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    break() {
      state = 'broken'
      pairs.forEach(reset)
    },
    stall() {
      state = 'stalled'
      pairs.forEach(silence)
    },
    forget() {
      for (const pair of pairs) {
        silence(pair)
        pair.upstream?.destroy()
      }
    },
    mend() {
      state = 'passing'
      for (const pair of pairs) if (pair.isSilent) pair.client.resetAndDestroy()
    },
  }
}

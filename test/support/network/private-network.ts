import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { atTheEnd } from '../at-the-end.ts'
import type { Order, Visit, Visited } from './clients.ts'

/** Clients with as many addresses as they like, in a network where a server can listen at any port. */
export interface PrivateNetwork {
  /** A command that runs what comes after it in the network. */
  readonly through: readonly string[]
  /** Opens connections, and resolves once each has sent its bytes or failed. */
  hold(visits: readonly Visit[]): Promise<{ look(): Promise<Visited>; leave(): Promise<void> }>
  /** Resolves to all that comes until the connection is closed. */
  ask(visit: Visit): Promise<string>
}

const CLIENTS = join(import.meta.dirname, 'clients.ts')
/** Addresses for documentation: all of them are this machine's in there. */
const ADDRESSES = '2001:db8::/32'

type Wanted<Each = Order> = Each extends Order ? Omit<Each, 'id'> : never

let made = 0

/** Needs what network-namespace.ts needs. Ends with the test, or the test file. */
export async function startPrivateNetwork(): Promise<PrivateNetwork> {
  const name = `teslim-own-${process.pid}-${made++}`
  const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'pipe', 'pipe'] })
  ip('netns', 'add', name)
  atTheEnd(() => void ip('netns', 'del', name))
  ip('-n', name, 'link', 'set', 'lo', 'up')
  ip('-n', name, '-6', 'route', 'add', 'local', ADDRESSES, 'dev', 'lo')

  const through = ['ip', 'netns', 'exec', name]
  // IPv6 alone would ask for each address by itself.
  ip('netns', 'exec', name, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv6/ip_nonlocal_bind')
  const [command = '', ...args] = [...through, process.execPath, CLIENTS]
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const ended = once(child, 'exit')
  atTheEnd(async () => {
    child.kill()
    await ended
  })
  const waiting = new Map<number, (result: unknown) => void>()
  child.on('message', ({ id, result }: { id: number; result: unknown }) => {
    waiting.get(id)?.(result)
    waiting.delete(id)
  })
  let orders = 0
  const send = <Result>(wanted: Wanted): Promise<Result> => {
    const id = orders++
    child.send({ id, ...wanted })
    return Promise.race([
      new Promise<Result>((resolve) => waiting.set(id, resolve as (result: unknown) => void)),
      ended.then(() => Promise.reject(new Error('the process with the clients has ended'))),
    ])
  }
  return {
    through,
    async hold(visits) {
      const crowd = await send<number>({ what: 'hold', visits })
      return { look: () => send({ what: 'look', crowd }), leave: () => send({ what: 'leave', crowd }) }
    },
    ask: (visit) => send({ what: 'ask', visit }),
  }
}

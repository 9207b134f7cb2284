import { connect, type Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'

// A process of its own, so that it can run in a network of its own: private-network.ts starts it.

/** What one client does: it opens a connection from an address, and sends these bytes. */
export interface Visit {
  readonly from: string
  readonly host: string
  readonly port: number
  /** Over TLS, for this name. */
  readonly name?: string
  readonly bytes: string
}

/** What has come of visits: how many connections are open, and how many got which status; 0 is none yet. */
export interface Visited {
  readonly open: number
  readonly statuses: Readonly<Record<number, number>>
}

export type Order =
  | { readonly id: number; readonly what: 'hold'; readonly visits: readonly Visit[] }
  | { readonly id: number; readonly what: 'look'; readonly crowd: number }
  | { readonly id: number; readonly what: 'leave'; readonly crowd: number }
  /** Reads until the connection is closed. */
  | { readonly id: number; readonly what: 'ask'; readonly visit: Visit }

interface Client {
  readonly socket: Socket
  answer: string
}

const crowds = new Map<number, Client[]>()

const begin = ({ from, host, port, name, bytes }: Visit): Promise<Client> => {
  const where = { host, port, localAddress: from }
  const secured = { ...where, servername: name ?? '', rejectUnauthorized: false }
  const socket = name === undefined ? connect(where) : tlsConnect(secured)
  const client: Client = { socket, answer: '' }
  socket.setEncoding('latin1').on('data', (part: string) => {
    client.answer += part
  })
  socket.on('error', () => undefined)
  return new Promise((resolve) => {
    socket.on('close', () => resolve(client))
    socket.on(name === undefined ? 'connect' : 'secureConnect', () => {
      socket.write(bytes, 'latin1')
      resolve(client)
    })
  })
}

const look = (clients: readonly Client[]): Visited => {
  const statuses: Record<number, number> = {}
  for (const { answer } of clients) {
    const status = Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0)
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  return { open: clients.filter(({ socket }) => !socket.destroyed).length, statuses }
}

async function carryOut(order: Order): Promise<unknown> {
  if (order.what === 'hold') {
    const clients = await Promise.all(order.visits.map(begin))
    crowds.set(order.id, clients)
    return order.id
  }
  if (order.what === 'ask') {
    const client = await begin(order.visit)
    if (!client.socket.destroyed) await new Promise((resolve) => client.socket.on('close', resolve))
    return client.answer
  }
  const clients = crowds.get(order.crowd) ?? []
  if (order.what === 'look') return look(clients)
  for (const { socket } of clients) socket.destroy()
  return undefined
}

process.on('message', async (order: Order) => process.send?.({ id: order.id, result: await carryOut(order) }))
process.on('disconnect', () => process.exit())

import { Client } from 'undici'
import { expect, onTestFinished } from 'vitest'
import { fetch } from '../app/checked-fetch.ts'
import { freePort } from '../postgres/postgres-server.ts'
import { type ServerProcess, serve } from './process.ts'

export const PRODUCTION = { NODE_ENV: 'production' }
export const GONE = 'no store: requests get 503 until there is one'

/** Starts a server in production, and resolves once it waits for its store. */
export async function serveWithoutStore(cwd: string, env: Record<string, string> = {}) {
  const port = await freePort()
  const server = await serve({ cwd, env: { ...PRODUCTION, TESLIM_OPS_PORT: `${port}`, ...env } })
  await server.printed(new RegExp(GONE))
  const ops = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`)
    return { status: answer.status, text: await answer.text() }
  }
  return { ...server, ops }
}

export interface Answer {
  readonly status: number
  readonly code: string | undefined
  readonly text: string
  readonly headers: Record<string, unknown>
}

/** A client with one connection, which a server that is waiting must not end. */
export function oneConnection({ url }: Pick<ServerProcess, 'url'>) {
  const client = new Client(url)
  let connections = 0
  client.on('connect', () => void connections++)
  onTestFinished(() => client.destroy())
  return {
    connections: () => connections,
    async ask(path: string, method = 'GET', headers: Record<string, string> = {}, body?: string): Promise<Answer> {
      const answer = await client.request({
        path,
        method: method as 'GET',
        headers,
        ...(body !== undefined && { body }),
      })
      const text = await answer.body.text()
      const isJson = String(answer.headers['content-type']).startsWith('application/json') && text !== ''
      return {
        status: answer.statusCode,
        code: isJson ? JSON.parse(text).errorCode : undefined,
        text,
        headers: answer.headers,
      }
    },
  }
}

/** Delivers once by a key. */
export async function deliverOnce({ url }: Pick<ServerProcess, 'url'>, key: string): Promise<number> {
  const answer = await fetch(`${url}/Purchase/update`, {
    method: 'POST',
    headers: { ApiKey: key },
    body: '{"OrderID":"PO-1","Status":1}',
  })
  return answer.status
}

/** The statuses of deliveries until one is stored. */
export async function untilStored(server: Pick<ServerProcess, 'url'>, key: string): Promise<number[]> {
  const statuses = new Set<number>()
  await expect
    .poll(
      async () => {
        const status = await deliverOnce(server, key)
        statuses.add(status)
        return status
      },
      { timeout: 20_000 },
    )
    .toBe(200)
  return [...statuses]
}

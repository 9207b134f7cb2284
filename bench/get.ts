import { Agent, request } from 'node:http'

/**
 * Gets answers as text over a number of connections, or posts JSON. With `fetch`, what is measured would include the collection of the
 * garbage that it makes.
 */
export function createGetText(url: string, connections = 1) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  return (path: string, headers: Record<string, string> = {}, json?: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const posted = json !== undefined && {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
      }
      const sent = request(url + path, { agent, headers, ...posted }, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          if (answer.statusCode === 200) resolve(text)
          else reject(new Error(`${path}: ${text}`))
        })
      })
      sent.on('error', reject)
      sent.end(json)
    })
}

/** Gets answers over one connection, or posts JSON, and returns those that are JSON. */
export function createGet(url: string) {
  const get = createGetText(url)
  return async <Answer>(...asked: Parameters<typeof get>): Promise<Answer> => {
    const text = await get(...asked)
    return (text.startsWith('{') ? JSON.parse(text) : text) as Answer
  }
}

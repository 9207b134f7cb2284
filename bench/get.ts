import { Agent, request } from 'node:http'

/** Gets answers as text over a number of connections. With `fetch`, what is measured would include the collection of the garbage that it makes. */
export function createGetText(url: string, connections = 1) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  return (path: string, headers: Record<string, string> = {}): Promise<string> =>
    new Promise((resolve, reject) => {
      const sent = request(url + path, { agent, headers }, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          if (answer.statusCode === 200) resolve(text)
          else reject(new Error(`${path}: ${text}`))
        })
      })
      sent.on('error', reject)
      sent.end()
    })
}

/** Gets answers in JSON over one connection. */
export function createGet(url: string) {
  const get = createGetText(url)
  return async <Answer>(path: string, headers?: Record<string, string>): Promise<Answer> =>
    JSON.parse(await get(path, headers))
}

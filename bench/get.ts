import { Agent, request } from 'node:http'

/** Gets answers over one connection, or posts JSON, and returns those that are JSON. With `fetch`, what is measured would include the collection of the garbage that it makes. */
export function createGet(url: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return <Answer>(path: string, headers: Record<string, string> = {}, json?: string): Promise<Answer> =>
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
          if (answer.statusCode !== 200) reject(new Error(`${path}: ${text}`))
          else resolve(answer.headers['content-type']?.startsWith('application/json') ? JSON.parse(text) : undefined)
        })
      })
      sent.on('error', reject)
      sent.end(json)
    })
}

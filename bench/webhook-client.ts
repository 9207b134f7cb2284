// Compares clients for webhooks: node bench/webhook-client.ts [POSTs] [rounds]
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'
import { createServer, type Socket } from 'node:net'
import { createServer as createSecureServer } from 'node:tls'
import { Client, Pool } from 'undici'
import { systemClock } from '#src/lib/clock.ts'
import { createSender } from '#src/webhook/send/sender.ts'
import { signedHeaders } from '#src/webhook/send/signature.ts'
import { makeCertificate } from '../test/support/certificate.ts'

const CONNECTIONS = 32
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const BODY = Buffer.from(JSON.stringify({ type: 'delivery.received', data: { Payload: 'x'.repeat(900) } }))
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nKeep-Alive: timeout=60\r\nContent-Length: 2\r\n\r\nok'

type Send = () => Promise<number | null>
const [role = '', ...rest] = process.argv.slice(2)
const headers = () => signedHeaders('0190b5c4-0000-7000-8000-000000000000', 1_795_000_000, BODY, [SECRET])

/** Answers as soon as a whole request has arrived, with as little work as possible. */
function serve(): void {
  const { certificate, key } = makeCertificate()
  const answer = (socket: Socket): void => {
    let text = ''
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      const head = text.indexOf('\r\n\r\n')
      if (head < 0 || text.length < head + 4 + BODY.length) return
      text = ''
      socket.write(ANSWER)
    })
  }
  const plain = createServer({ noDelay: true }, answer).listen(0, '127.0.0.1')
  const secure = createSecureServer({ cert: certificate, key, noDelay: true }, answer).listen(0, '127.0.0.1', () => {
    process.send?.({ http: plain.address(), https: secure.address(), ca: certificate })
  })
}

const clients: Record<string, (url: string, ca: string) => Send> = {
  'node:http'(url, ca) {
    const isSecure = url.startsWith('https')
    const options = { keepAlive: true, maxSockets: CONNECTIONS }
    const agent = isSecure ? new SecureAgent({ ...options, ca }) : new Agent(options)
    const ask = isSecure ? secureRequest : request
    return () =>
      new Promise((resolve, reject) => {
        const sent = ask(url, { method: 'POST', agent, headers: { ...headers(), 'content-length': BODY.length } })
        sent.on('error', reject)
        sent.on('response', (answer) => {
          answer.resume()
          answer.on('end', () => resolve(answer.statusCode ?? null))
        })
        sent.end(BODY)
      })
  },
  'undici request'(url, ca) {
    const pool = new Pool(new URL(url).origin, { connections: CONNECTIONS, connect: { ca } })
    return async () => {
      const { statusCode, body } = await pool.request({ path: '/', method: 'POST', headers: headers(), body: BODY })
      await body.dump()
      return statusCode
    }
  },
  'undici dispatch'(url, ca) {
    const idle = Array.from({ length: CONNECTIONS }, () => new Client(new URL(url).origin, { connect: { ca } }))
    return () =>
      new Promise((resolve, reject) => {
        const client = idle.pop() as Client
        let status = 0
        client.dispatch(
          { path: '/', method: 'POST', headers: headers(), body: BODY },
          {
            onRequestStart() {},
            onResponseStart(_controller, code) {
              status = code
            },
            onResponseData() {},
            onResponseEnd() {
              idle.push(client)
              resolve(status)
            },
            onResponseError: (_controller, error) => reject(error),
          },
        )
      })
  },
  sender(url, ca) {
    const sender = createSender({ allow: [new URL(url).host], clock: systemClock })
    return async () => (await sender.send({ url, ca, headers: headers(), body: BODY })).status
  },
}

async function measure(name: string, url: string, ca: string, posts: number): Promise<void> {
  const send = clients[name]?.(url, ca)
  if (send === undefined) throw new Error(`no client ${name}`)
  const run = async (count: number): Promise<void> => {
    let left = count
    const one = async (): Promise<void> => {
      while (left-- > 0) if ((await send()) !== 200) throw new Error('not 200')
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, one))
  }
  await run(5000)
  const [cpu, start] = [process.cpuUsage(), performance.now()]
  await run(posts)
  const { user, system } = process.cpuUsage(cpu)
  process.send?.({ microseconds: (user + system) / posts, perSecond: (posts / (performance.now() - start)) * 1000 })
}

const start = (...args: string[]): ChildProcess => fork(import.meta.filename, args)
const median = (numbers: number[]): number => numbers.sort((a, b) => a - b)[numbers.length >> 1] ?? 0

async function compare(posts: number, rounds: number): Promise<void> {
  const server = start('server')
  const [ports] = await once(server, 'message')
  const found = new Map<string, { microseconds: number; perSecond: number }[]>()
  for (let round = 0; round < rounds; round += 1) {
    for (const scheme of ['http', 'https'] as const) {
      for (const name of Object.keys(clients)) {
        const client = start('client', name, `${scheme}://127.0.0.1:${ports[scheme].port}/`, ports.ca, String(posts))
        const [result] = await Promise.race([once(client, 'message'), once(client, 'exit').then(() => [])])
        if (result === undefined) throw new Error(`${name} failed`)
        client.kill()
        found.set(`${scheme} ${name}`, [...(found.get(`${scheme} ${name}`) ?? []), result])
      }
    }
  }
  server.kill()
  for (const [name, results] of found) {
    const microseconds = median(results.map((result) => result.microseconds))
    const perSecond = median(results.map((result) => result.perSecond))
    console.log(`${name.padEnd(24)} ${microseconds.toFixed(0).padStart(5)} µs ${perSecond.toFixed(0).padStart(7)}/s`)
  }
}

process.on('disconnect', () => process.exit())
if (role === 'server') serve()
else if (role === 'client') await measure(rest[0] ?? '', rest[1] ?? '', rest[2] ?? '', Number(rest[3]))
else await compare(Number(role) || 15_000, Number(rest[0]) || 5)

import { describe, expect, it, vi } from 'vitest'
import { parseAnswers } from '../../support/app/raw-http.ts'
import { nginxInstalled } from '../../support/network/balancer.ts'
import type { Visit } from '../../support/network/clients.ts'
import { whyNoNamespace } from '../../support/network/network-namespace.ts'
import { SUPPLIERS, startNginxTls } from '../../support/network/nginx-tls.ts'
import { startPrivateNetwork } from '../../support/network/private-network.ts'
import { makeSupplier, SUPPLIER_EMAIL } from '../../support/processes/ledger.ts'
import { runPrepared } from '../../support/processes/prepared-commands.ts'
import { serve } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'

vi.setConfig({ testTimeout: 60_000 })

const why = whyNoNamespace()
if (why !== undefined) console.log(`one client that takes all connections: skipped, ${why}`)
if (!nginxInstalled) console.log('one client behind the nginx file with TLS: skipped, nginx is not installed')

const LOGIN = '/Login/Customer/Api/Verify'
const HALF_A_LOGIN = `POST ${LOGIN} HTTP/1.1\r\nHost: ${SUPPLIERS}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"Email"`
const times = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, i) => make(i))

/** A server in a network of its own, with a customer that may log in, and somebody else who delivers. */
async function serveThere(env: Readonly<Record<string, string>>) {
  const network = await startPrivateNetwork()
  const cwd = tempFolder()
  const { password } = await makeSupplier({ cwd }, ['--allow', '*', '--api', '--region', 'TR'])
  const run = async (...args: string[]) => JSON.parse((await runPrepared([...args, '--json'], { cwd })).stdout)
  const { id } = await run('customer', 'add', '--email', 'other@b.co', '--generate', '--allow', '*')
  const { key } = await run('key', 'issue', '--customer', id)
  const options = { PORT: '3000', NODE_ENV: 'production', ...env }
  await serve({ cwd, through: network.through, env: options })
  const ask = async (visit: Omit<Visit, 'bytes'>, head: readonly string[], body: string) => {
    const length = `Content-Length: ${body.length}`
    const lines = [...head, `Host: ${SUPPLIERS}`, 'Connection: close', length]
    return network.ask({ ...visit, bytes: `${lines.join('\r\n')}\r\n\r\n${body}` })
  }
  return {
    network,
    async token(visit: Omit<Visit, 'bytes'>): Promise<string> {
      const credentials = JSON.stringify({ Email: SUPPLIER_EMAIL, Password: password })
      const head = [`POST ${LOGIN} HTTP/1.1`, 'Content-Type: application/json']
      return /"Token":"([^"]+)"/.exec(await ask(visit, head, credentials))?.[1] ?? ''
    },
    /** Returns the status. */
    async deliver(visit: Omit<Visit, 'bytes'>, ...lines: string[]): Promise<number | undefined> {
      const head = ['POST /Purchase/update HTTP/1.1', `ApiKey: ${key}`, ...lines]
      return parseAnswers(await ask(visit, head, '{"Status":1}'))[0]?.status
    },
  }
}

describe.skipIf(why !== undefined)('the deliveries of another supplier go on', () => {
  it.runIf(nginxInstalled)(
    'while 33 addresses of one /64 send 660 halves of logins through the nginx file with TLS',
    async () => {
      const env = { TESLIM_TRUST_PROXY: 'loopback', TESLIM_MAX_CONNECTIONS: '600' }
      const { network, deliver } = await serveThere(env)
      const { port } = await startNginxTls({ teslim: 3000, network, workerConnections: 4096 })
      const nginx = { host: '2001:db8:ff::1', port, name: SUPPLIERS }
      const others = [
        { ...nginx, from: '2001:db8:1:2::1' },
        { ...nginx, from: '127.0.0.2', host: '127.0.0.1' },
      ]
      await until('nginx answers', async () => (await deliver(others[0] as Visit)) === 200)
      const visits = times(660, (index) => ({
        ...nginx,
        from: `2001:db8:1:1::${(index % 33) + 1}`,
        bytes: HALF_A_LOGIN,
      }))
      const crowd = await network.hold(visits)
      await expect.poll(async () => (await crowd.look()).statuses[503], { timeout: 10_000 }).toBeGreaterThan(0)
      expect(await Promise.all(others.map((from) => deliver(from)))).toEqual([200, 200])
    },
  )

  it.runIf(nginxInstalled)(
    'while three /64 of one /48 send 900 halves of logins: the nginx file with TLS passes on 256 for each, and 512 of all',
    async () => {
      const { network, deliver } = await serveThere({ TESLIM_TRUST_PROXY: 'loopback' })
      const { port } = await startNginxTls({ teslim: 3000, network, workerConnections: 4096 })
      const nginx = { host: '2001:db8:ff::1', port, name: SUPPLIERS }
      const other = { ...nginx, from: '2001:db8:2::1' }
      await until('nginx answers', async () => (await deliver(other)) === 200)
      const of = (count: number, subnet: number) =>
        times(count, (index) => ({ ...nginx, from: `2001:db8:1:${subnet}::${index + 1}`, bytes: HALF_A_LOGIN }))
      const first = await network.hold(of(300, 1))
      await expect.poll(async () => (await first.look()).statuses, { timeout: 10_000 }).toEqual({ 0: 256, 503: 44 })
      const others = await network.hold([...of(300, 2), ...of(300, 3)])
      await expect.poll(async () => (await others.look()).statuses, { timeout: 10_000 }).toEqual({ 0: 256, 503: 344 })
      expect(await deliver({ ...nginx, from: '2001:db8:1:4::1' })).toBe(503)
      expect(await deliver(other)).toBe(200)
    },
  )

  it('while six /64 of one /48 open all connections', async () => {
    const { network, deliver } = await serveThere({ HOST: '::', TESLIM_MAX_CONNECTIONS: '100' })
    const server = { host: '2001:db8:ff::1', port: 3000 }
    const bytes = `GET /Customer/Get HTTP/1.1\r\nHost: a\r\n\r\n`
    const visits = times(150, (index) => ({ ...server, from: `2001:db8:1:${index % 6}::1`, bytes }))
    const crowd = await network.hold(visits)
    await expect.poll(async () => (await crowd.look()).statuses[401]).toBeGreaterThanOrEqual(50)
    expect(await deliver({ ...server, from: '2001:db8:2::1' })).toBe(200)
    expect(await deliver({ ...server, from: '127.0.0.2', host: '127.0.0.1' })).toBe(200)
  })

  it.each([
    ['directly', 'off'],
    ['behind a trusted proxy', 'loopback'],
  ])('while one token asks for 300 streams from ten addresses, %s', async (_where, TESLIM_TRUST_PROXY) => {
    const env = { HOST: '::', TESLIM_TRUST_PROXY, TESLIM_MAX_CONNECTIONS: '200' }
    const { network, deliver, token } = await serveThere(env)
    const server = { host: '127.0.0.1', port: 3000 }
    const isProxied = TESLIM_TRUST_PROXY === 'loopback'
    const bearer = await token({ ...server, from: '127.0.0.1' })
    const stream = [
      'GET /Purchase/feed HTTP/1.1',
      'Host: a',
      `Authorization: Bearer ${bearer}`,
      'Accept: text/event-stream',
    ]
    const visits = times(300, (index) => {
      const address = `127.0.1.${(index % 10) + 1}`
      const forwarded = isProxied ? [`X-Forwarded-For: 198.51.100.${(index % 10) + 1}`] : []
      const bytes = `${[...stream, ...forwarded].join('\r\n')}\r\n\r\n`
      return { ...server, from: isProxied ? '127.0.0.1' : address, bytes }
    })
    const crowd = await network.hold(visits)
    await expect.poll(async () => (await crowd.look()).statuses[503], { timeout: 10_000 }).toBeGreaterThan(0)
    const forwarded = isProxied ? ['X-Forwarded-For: 203.0.113.7'] : []
    expect(await deliver({ ...server, from: '127.0.0.1' }, ...forwarded)).toBe(200)
    const { statuses } = await crowd.look()
    expect(statuses).toEqual({ 200: 64, 503: 236 })
  })
})

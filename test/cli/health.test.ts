import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { makeCertificate, storeCertificate } from '../support/network/certificate.ts'
import { freePort } from '../support/postgres/postgres-server.ts'
import { runCommand } from '../support/processes/command.ts'
import { keyOfSupplier } from '../support/processes/ledger.ts'
import { serve } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const cwd = tempFolder()
const health = (args: string[] = [], env = {}) => runCommand(['health', ...args], { cwd, env })

async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const answering: (status: number) => RequestListener = (status) => (request, response) => {
  response.statusCode = request.url === '/readyz' ? status : 500
  response.end('{}')
}

describe('teslim health', () => {
  it('exits with 0 while the server that PORT and HOST name is ready, and with 1 once it has gone', async () => {
    const port = String(await freePort())
    const server = await serve({ cwd, env: { PORT: port, HOST: '0.0.0.0' } })
    const url = `http://127.0.0.1:${port}/readyz`
    const env = { PORT: port, HOST: '0.0.0.0' }
    expect(await health([], env)).toEqual({ status: 0, stdout: `${url} is ready\n`, stderr: '' })
    const ready = { ready: true, url, status: 200, reason: null }
    expect(await health(['--json'], env)).toEqual({ status: 0, stdout: `${JSON.stringify(ready)}\n`, stderr: '' })
    server.child.kill('SIGTERM')
    await server.ended
    const stderr = `teslim health: nothing listens at http://127.0.0.1:${port}: is the server running? (ECONNREFUSED)\n`
    expect(await health([], env)).toEqual({ status: 1, stdout: '', stderr })
    const gone = { ready: false, url, status: null, reason: 'ECONNREFUSED' }
    expect(await health(['--json'], env)).toEqual({ status: 1, stdout: `${JSON.stringify(gone)}\n`, stderr: '' })
  })

  it('exits with 1 when the server is not ready', async () => {
    const port = await portOf(createServer(answering(503)))
    const { status, stderr } = await health([], { PORT: String(port) })
    expect([status, stderr]).toEqual([
      1,
      `teslim health: http://127.0.0.1:${port}/readyz answered 503: the server runs but is not ready; its log says why\n`,
    ])
  })

  it('exits with 1 when there is no answer, or none in HTTP', async () => {
    const silent = await portOf(createTcpServer((socket) => void onTestFinished(() => void socket.destroy())))
    const odd = await portOf(createTcpServer((socket) => void socket.on('error', () => undefined).end('SSH-2.0-x\r\n')))
    const { timeout } = AbortSignal
    const limit = vi.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => timeout(milliseconds / 20))
    onTestFinished(() => limit.mockRestore())
    const [noAnswer, noHttp] = await Promise.all([silent, odd].map((port) => health([], { PORT: String(port) })))
    expect(noAnswer?.stderr).toMatch(/cannot be reached: no answer within 4 seconds\n$/)
    expect(noHttp?.stderr).toMatch(/cannot be reached: HPE_INVALID_CONSTANT\n$/)
    expect([noAnswer?.status, noHttp?.status]).toEqual([1, 1])
  })

  it('asks a server with TLS, whatever its certificate names and whoever issued it', async () => {
    const folder = tempFolder()
    const made = makeCertificate({ names: ['api.example.com'], addresses: [] })
    const port = String(await freePort())
    const env = { PORT: port, NODE_ENV: 'production', ...storeCertificate(folder, made) }
    await keyOfSupplier({ cwd: folder })
    await serve({ cwd: folder, env })
    const url = `https://127.0.0.1:${port}/readyz`
    expect(await health([], env)).toEqual({ status: 0, stdout: `${url} is ready\n`, stderr: '' })
    expect(await health(['--url', `https://127.0.0.1:${port}`])).toMatchObject({ status: 0, stderr: '' })
    expect(await health(['--url', `http://127.0.0.1:${port}`])).toMatchObject({ status: 1 })
  })

  it.each([
    [[], { PORT: '0' }, 'PORT is 0, which is any free port: name the server with --url'],
    [['--url', 'ftp://127.0.0.1'], {}, '--url takes an address such as http://127.0.0.1:3000'],
    [['--url', ''], {}, '--url takes an address such as http://127.0.0.1:3000'],
  ])('%j %j is misuse', async (args, env, message) => {
    const stderr = `teslim health: ${message} (see teslim health --help)\n`
    expect(await health(args, env)).toEqual({ status: 2, stdout: '', stderr })
  })
})

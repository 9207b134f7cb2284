import { spawn } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect as tlsConnect } from 'node:tls'
import { expect, it, onTestFinished } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { makeCertificate, storeCertificate } from '../support/network/certificate.ts'
import { makeNamespace, whyNoSlowNetwork } from '../support/network/network-namespace.ts'
import { makeSupplier, SUPPLIER_EMAIL } from '../support/processes/ledger.ts'
import { serve } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const why = whyNoSlowNetwork()
if (why !== undefined) console.log(`clients behind a slow network: skipped, ${why}`)

const PATIENCE_SECONDS = 4
/** 25 KB/s: over such a link the system asks for more only every few seconds. */
const SLOW_BITS_A_SECOND = 200_000
const env = {
  NODE_ENV: 'production',
  HOST: '0.0.0.0',
  TESLIM_REQUEST_TIMEOUT: `${PATIENCE_SECONDS}`,
}

/** A store whose feed has more than the system holds for a connection, and a token that reads it. */
async function largeFeed() {
  const cwd = tempFolder()
  const { key, password } = await makeSupplier({ cwd, env }, ['--allow', '*', '--api', '--region', 'TR'])
  const { url, child, ended } = await serve({ cwd, env: { ...env, HOST: '127.0.0.1' } })
  const post = async (path: string, headers: Record<string, string>, body: string) => {
    const answer = await fetch(url + path, { method: 'POST', headers, body })
    expect(answer.status).toBe(200)
    return (await answer.json()) as { data: { Token: string } }
  }
  const filler = 'x'.repeat(1_000_000)
  for (let i = 0; i < 4; i++) await post('/Purchase/update', { ApiKey: key }, `{"Status":1,"filler":"${filler}"}`)
  const credentials = JSON.stringify({ Email: SUPPLIER_EMAIL, Password: password })
  const { data } = await post('/Login/Customer/Api/Verify', { 'Content-Type': 'application/json' }, credentials)
  child.kill()
  await ended
  return { cwd, token: data.Token }
}

const feed = await largeFeed()

/** What a client behind the slow network runs. It prints how far it has come. */
const READ = `
  const { get } = await import('node:' + process.argv[1])
  const [, , url, token] = process.argv
  get(url + '/Purchase/feed', { rejectUnauthorized: false, headers: { Authorization: 'Bearer ' + token } }, (answer) => {
    let bytes = 0
    answer.on('data', (piece) => console.log((bytes += piece.length)))
    answer.on('error', ({ message }) => console.log(message))
  })`

it.skipIf(why !== undefined).each(['http', 'https'])(
  'over %s a client that reads nothing is disconnected, and one behind a slow network is not',
  async (scheme) => {
    const { cwd, token } = feed
    const certificate = scheme === 'https' ? storeCertificate(cwd, makeCertificate({ names: ['localhost'] })) : {}
    const server = await serve({ cwd, env: { ...env, ...certificate } })
    const { port } = new URL(server.url)
    const namespace = makeNamespace()
    onTestFinished(namespace.remove)
    namespace.slow(SLOW_BITS_A_SECOND)

    const where = { port: Number(port), host: '127.0.0.1' }
    const idle: Socket = scheme === 'https' ? tlsConnect({ ...where, rejectUnauthorized: false }) : connect(where)
    onTestFinished(() => void idle.destroy())
    idle.pause().on('error', () => undefined)
    const request = `GET /Purchase/feed HTTP/1.1\r\nHost: a\r\nAccept-Encoding: identity\r\nAuthorization: Bearer ${token}\r\n\r\n`
    idle.write(request.repeat(3))

    const inside = ['netns', 'exec', namespace.name, process.execPath, '--input-type=module', '-e', READ]
    const slow = spawn('ip', [...inside, scheme, `${scheme}://${namespace.here}:${port}`, token])
    onTestFinished(() => void slow.kill())
    let told = ''
    slow.stdout.setEncoding('utf8').on('data', (piece: string) => {
      told += piece
    })
    const complaints = text(slow.stderr)

    const began = performance.now()
    const [, address] = await server.printed(/"address":"([^"]+)",.*"msg":"a client that does not read is disconnected/)
    expect(address).toBe('127.0.0.1')
    const isLater = () => performance.now() - began > 3000 * PATIENCE_SECONDS
    await until('three times the patience is over', isLater, { milliseconds: 30_000 })
    const before = told
    await until('the slow client gets more', () => told !== before)
    expect(told).toMatch(/^[\d\n]+$/)
    expect(server.output().match(/does not read/g)).toHaveLength(1)
    slow.kill()
    expect(await complaints).toBe('')
  },
)

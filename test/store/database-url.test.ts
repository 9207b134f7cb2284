import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { type SecureContextOptions, TLSSocket } from 'node:tls'
import { expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { inspectStore } from '#src/store/open-store.ts'
import { unverifiedServers } from '#src/store/postgres/connection/server-list.ts'
import { makeCertificate } from '../support/network/certificate.ts'
import { runCommand } from '../support/processes/command.ts'
import { createStore } from '../support/store/create-store.ts'
import { tempFolder } from '../support/temp-folder.ts'

/** A server, without TLS unless it is given a certificate, that asks whoever connects for a password in clear, and what it was sent. */
async function falseServer(tls?: SecureContextOptions) {
  let sent = ''
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (bytes: Buffer) => {
      sent += bytes.toString('latin1')
      const wantsTls = bytes.readInt32BE(4) === 80_877_103
      if (wantsTls && tls !== undefined) {
        socket.removeAllListeners('data').write('S')
        new TLSSocket(socket, { ...tls, isServer: true }).on('error', () => undefined)
        return
      }
      socket.write(wantsTls ? 'N' : Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const url = `postgres://u:geheim@127.0.0.1:${port}/d`
  const open = (parameters: string) => inspectStore(loadConfig({ DATABASE_URL: `${url}?${parameters}` }).config)
  return { url, open, sent: () => sent }
}

it.each([
  ['SSLMODE=verify-full', 'did you mean sslmode?'],
  ['SslMode=verify-full', 'did you mean sslmode?'],
  ['ssl_mode=verify-full', 'did you mean sslmode?'],
  ['ssl-mode=verify-full', 'did you mean sslmode?'],
  ['sslmod=verify-full', 'did you mean sslmode?'],
  ['sslmode%20=verify-full', 'did you mean sslmode?'],
  ['connect_timeout=1&sslrootcerts=ca.pem', 'did you mean sslrootcert?'],
  ['channel_binding=require', 'leave it out,'],
  ['sslmode=verify-full&sslmode=disable', 'has sslmode twice, of which'],
  ['ssl%6Dode=verify-full&connect_timeout=2&sslmode=disable', 'has sslmode twice, of which'],
  ['#sslmode=verify-full', 'has a #, and what follows'],
  ['connect_timeout=2#', 'has a #, and what follows'],
])('a database URL with ?%s is refused before anything is sent, with what was meant', async (parameters, hint) => {
  const { open, sent } = await falseServer()
  const error = await open(parameters).catch((error: Error & { code: string }) => error)
  expect(error).toMatchObject({ code: 'STORE_CANNOT_OPEN', message: expect.stringContaining(hint) })
  expect([sent(), JSON.stringify(error).includes('geheim')]).toEqual(['', false])
})

it('the target of a copy is refused like any other URL, with nothing sent and nothing marked', async () => {
  const { url, sent } = await falseServer()
  const cwd = tempFolder()
  await createStore(cwd)
  for (const end of ['#sslmode=verify-full', '?sslmode=verify-full&sslmode=disable']) {
    const { status, stderr } = await runCommand(['copy', '--to', `${url}${end}`], { cwd })
    expect([status, sent(), stderr]).toEqual([
      1,
      '',
      expect.stringContaining('teslim copy: The URL of the database has '),
    ])
  }
  expect((await runCommand(['backup', 'b.db'], { cwd })).status).toBe(0)
})

it.each(['verify-full', 'verify-ful', 'VERIFY-FULL', 'require'])(
  'with sslmode=%s the password never goes to a server without TLS',
  async (mode) => {
    const { open, sent } = await falseServer()
    await expect(open(`sslmode=${mode}`)).rejects.toThrow(/does not support SSL/)
    expect(sent()).not.toContain('geheim')
  },
)

it('a certificate of another authority is refused with how to name it', async () => {
  const { certificate: cert, key } = makeCertificate()
  const { open, sent } = await falseServer({ cert, key })
  await expect(open('sslmode=verify-full')).rejects.toThrow(
    /^The database cannot be reached: self-signed certificate: name that of its authority .*, sslrootcert=FILE\.$/,
  )
  expect(sent()).not.toContain('geheim')
})

it('a server elsewhere is one to warn of unless it has to prove who it is', () => {
  const ca = join(tempFolder(), 'ca.pem')
  writeFileSync(ca, 'a certificate')
  const parameters = (text: string) => unverifiedServers(`postgres://u:p@db.internal/d${text}`)
  const warned = [
    '',
    '?sslmode=disable',
    '?sslmode=prefer',
    '?sslmode=require',
    '?ssl=0',
    '?uselibpqcompat=true&sslmode=require',
  ]
  const verified = [
    '?sslmode=verify-full',
    `?sslmode=verify-ca&sslrootcert=${ca}`,
    `?sslmode=require&sslrootcert=${ca}`,
    '?ssl=true',
  ]
  expect(warned.map(parameters)).toEqual(warned.map(() => ['db.internal']))
  expect(verified.map(parameters)).toEqual(verified.map(() => []))
  expect(unverifiedServers('postgres://u:p@one:5432,127.0.0.1,two:5433/d')).toEqual(['one', 'two'])
  for (const local of ['localhost', '127.0.0.1', '127.1.2.3', '[::1]', '%2Fvar%2Frun%2Fpostgresql'])
    expect(unverifiedServers(`postgres://u:p@${local}/d`), local).toEqual([])
  expect(unverifiedServers('postgres://u:p@/d?host=/var/run/postgresql')).toEqual([])
})

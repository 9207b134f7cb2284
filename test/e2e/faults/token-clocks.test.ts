import { describe, expect, it, onTestFinished } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import { canFakeClocks, fakeClock } from '../../support/app/fake-clock.ts'
import { seenWithinASecond } from '../../support/app/seen-within-a-second.ts'
import { newPostgresStore } from '../../support/postgres/postgres-session.ts'
import { runPrepared } from '../../support/processes/prepared-commands.ts'
import { serve, teslim } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'

const EMAIL = 'shop@example.com'
const HOUR = 3600

/** A store with one customer, and servers on it whose clocks are ahead by so many seconds. */
async function start(databaseUrl: string, ...clocks: number[]) {
  const where = { cwd: tempFolder(), env: { NODE_ENV: 'production', DATABASE_URL: databaseUrl } }
  const run = async (...args: string[]) => {
    const { status, stdout, stderr } = await runPrepared([...args, '--json'], where)
    expect(status, stderr).toBe(0)
    return JSON.parse(stdout)
  }
  const added = await run('customer', 'add', '--email', EMAIL, '--api', '--operator', '--generate')
  let password: string = added.password
  const serveAhead = async (seconds: number) => {
    const { env, clear } = fakeClock(seconds)
    const server = await serve({ ...where, env: { ...where.env, ...(seconds !== 0 && env) } })
    onTestFinished(() => clear(server.child.pid))
    return server
  }
  const servers = await Promise.all(clocks.map(serveAhead))
  const logIn = async (server = servers[0]) => {
    const answer = await fetch(`${server?.url}/Login/Customer/Api/Verify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ Email: EMAIL, Password: password }),
    })
    return ((await answer.json()) as { data: { Token: string; Expiration: string } }).data
  }
  /** What each server answers to a token. */
  const statuses = (Token: string) =>
    Promise.all(
      servers.map(async ({ url }) => {
        const answer = await fetch(`${url}/Customer/Get`, { headers: { authorization: `Bearer ${Token}` } })
        return answer.status
      }),
    )
  const endings = {
    'token revoke': () => run('token', 'revoke', '--customer', EMAIL),
    async 'customer set-password'() {
      ;({ password } = await run('customer', 'set-password', EMAIL, '--generate'))
    },
    async 'customer disable'() {
      await run('customer', 'disable', EMAIL)
      await run('customer', 'enable', EMAIL)
    },
    async 'customer set --operator no'() {
      await run('customer', 'set', EMAIL, '--operator', 'no')
      await run('customer', 'set', EMAIL, '--operator', 'yes')
    },
    async 'customer set --api no'() {
      await run('customer', 'set', EMAIL, '--api', 'no')
      await run('customer', 'set', EMAIL, '--api', 'yes')
    },
  }
  return { where, run, servers, serveAhead, logIn, statuses, endings }
}

describe.each<[store: string, newStore: () => Promise<string>]>([
  ['SQLite', async () => 'sqlite:./data/teslim.db'],
  ['PostgreSQL', newPostgresStore],
])('on %s', (store, newStore) => {
  const replicas = store === 'SQLite' ? [5] : [5, 0, -5]

  it('a token that is issued between two revocations of the same second ends, in 8 of 8 tries', async () => {
    const { logIn, statuses, endings } = await start(await newStore(), 0)
    const seen: number[][] = []
    for (let tries = 0; tries < 8; tries++) {
      await endings['token revoke']()
      const { Token } = await logIn()
      expect(await statuses(Token)).toEqual([200])
      await endings['token revoke']()
      await seenWithinASecond(() => statuses(Token), [401])
      seen.push(await statuses((await logIn()).Token))
    }
    expect(seen).toEqual(Array(8).fill([200]))
  })

  it.runIf(canFakeClocks)('a token of a server with another clock ends like any other one', async () => {
    const { servers, logIn, statuses, endings } = await start(await newStore(), ...replicas)
    const all = (status: number) => servers.map(() => status)
    for (const [command, end] of Object.entries(endings)) {
      const tokens = await Promise.all(servers.map((server) => logIn(server)))
      for (const { Token } of tokens) expect(await statuses(Token), command).toEqual(all(200))
      await end()
      for (const { Token } of tokens) await seenWithinASecond(() => statuses(Token), all(401))
      for (const server of servers) expect(await statuses((await logIn(server)).Token), command).toEqual(all(200))
    }
  })

  it.runIf(canFakeClocks)(
    'a command with a clock an hour ahead or behind changes nothing for what is issued later',
    async () => {
      const { where, logIn, statuses, endings } = await start(await newStore(), 0)
      for (const seconds of [HOUR, -HOUR]) {
        const before = await logIn()
        const env = { ...where.env, ...fakeClock(seconds).env }
        const revoked = await teslim(['token', 'revoke', '--customer', EMAIL], { ...where, env })
        expect(revoked).toMatchObject({ status: 0, stdout: `The access tokens of ${EMAIL} are revoked.\n` })
        await seenWithinASecond(() => statuses(before.Token), [401])
        const { Token, Expiration } = await logIn()
        expect(Date.parse(Expiration) - Date.now()).toBeLessThanOrEqual(HOUR * 1000)
        expect(await statuses(Token)).toEqual([200])
        await endings['token revoke']()
        await seenWithinASecond(() => statuses(Token), [401])
      }
    },
  )
})

it('after a restore only tokens of the generation in the backup work again, which is printed, and no other one ever does', async () => {
  const { where, run, servers, serveAhead, logIn, statuses, endings } = await start('sqlite:./data/teslim.db', 0)
  const { Token: old } = await logIn()
  // Nothing can be concluded from a store without deliveries.
  await run('customer', 'allow', EMAIL, '*')
  const { key } = await run('key', 'issue', '--customer', EMAIL)
  const sent = { method: 'POST', headers: { ApiKey: key }, body: '{"Status":1}' }
  expect((await fetch(`${servers[0]?.url}/Purchase/update`, sent)).status).toBe(200)
  await run('backup', 'b.db')
  await endings['token revoke']()
  const { Token: undone } = await logIn()
  await seenWithinASecond(() => statuses(old), [401])
  expect(await statuses(undone)).toEqual([200])

  servers[0]?.child.kill('SIGTERM')
  expect(await servers[0]?.ended).toBe(0)
  const restored = await run('restore', 'b.db')
  expect(restored.undone).toEqual([
    {
      what: `customer ${EMAIL}`,
      happened: 'has revoked tokens that are valid again',
      command: `teslim token revoke --customer ${EMAIL}`,
    },
  ])
  servers[0] = await serveAhead(0)
  expect([await statuses(old), await statuses(undone)]).toEqual([[200], [401]])
  for (let times = 0; times < 3; times++) {
    const [, ...command] = restored.undone[0].command.split(' ')
    expect((await runPrepared(command, where)).status).toBe(0)
    const { Token: fresh } = await logIn()
    await seenWithinASecond(async () => [await statuses(old), await statuses(undone)], [[401], [401]])
    expect(await statuses(fresh)).toEqual([200])
  }
})

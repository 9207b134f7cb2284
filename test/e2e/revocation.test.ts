import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { seenWithinASecond } from '../support/app/seen-within-a-second.ts'
import { newPostgresStore } from '../support/postgres/postgres-session.ts'
import { runPrepared } from '../support/processes/prepared-commands.ts'
import { serve } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

/** What ends the tokens of an operator, as its arguments. */
const ENDINGS = [
  ['token', 'revoke', '--customer'],
  ['customer', 'set-password', '--generate'],
  ['customer', 'set', '--operator', 'no'],
  ['customer', 'set', '--read-only', 'yes'],
  ['customer', 'set', '--support', 'yes', '--payloads', 'yes'],
  ['customer', 'set', '--feed', 'yes'],
  ['customer', 'set', '--api', 'no'],
  ['customer', 'set', '--region', 'DE'],
  ['customer', 'disable'],
  ['customer', 'remove'],
]

describe.each<[store: string, servers: number, newStore: () => Promise<string>]>([
  ['SQLite', 1, async () => 'sqlite:./data/teslim.db'],
  ['PostgreSQL', 2, newPostgresStore],
])('on %s', async (_store, count, newStore) => {
  const where = { cwd: tempFolder(), env: { NODE_ENV: 'production', DATABASE_URL: await newStore() } }
  const run = async (...args: string[]) => {
    const { status, stdout, stderr } = await runPrepared([...args, '--json'], where)
    expect(status, stderr).toBe(0)
    return JSON.parse(stdout)
  }
  let added = 0
  const addOperator = async () => {
    const Email = `operator${added++}@example.com`
    const { password: Password } = await run('customer', 'add', '--email', Email, '--api', '--operator', '--generate')
    return { Email, Password }
  }
  const bystander = await addOperator()
  const servers = await Promise.all(Array.from({ length: count }, () => serve(where)))
  const logIn = async (credentials: object) => {
    const answer = await fetch(`${servers[0]?.url}/Login/Customer/Api/Verify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(credentials),
    })
    return ((await answer.json()) as { data: { Token: string } }).data.Token
  }

  /** Opens at each server all that lasts, and tells what has become of each. Nothing is delivered, and no heartbeat is due. */
  const openAll = async (token: string) => {
    const authorization = `Bearer ${token}`
    const left = new AbortController()
    const seen: (number | string)[] = []
    const note = (index: number) => (outcome: number | string) => {
      seen[index] = outcome
    }
    const poll = async (url: string, index: number) => {
      const waiting = fetch(`${url}/Purchase/feed?wait=60`, { headers: { authorization }, signal: left.signal })
      seen[index] = 'waits'
      void waiting.then(({ status }) => status, String).then(note(index))
    }
    const stream = async (url: string, index: number) => {
      const headers = { authorization, accept: 'text/event-stream' }
      const { body, status } = await fetch(url, { headers, signal: left.signal })
      if (body === null || status !== 200) throw new Error(`no stream: ${status}`)
      const reader = body.getReader()
      expect(Buffer.from((await reader.read()).value ?? []).toString()).toContain('retry: ')
      seen[index] = 'waits'
      const readAll = async (): Promise<string> => ((await reader.read()).done ? 'ended' : readAll())
      void readAll().catch(String).then(note(index))
    }
    await Promise.all(
      servers.flatMap(({ url }, server) => [
        poll(url, 3 * server),
        stream(`${url}/Purchase/feed`, 3 * server + 1),
        stream(`${url}/Operator/live`, 3 * server + 2),
      ]),
    )
    return { seen, leave: () => left.abort() }
  }
  const everywhere = (...each: (number | string)[]) => servers.flatMap(() => each)

  it.each(ENDINGS.map((args) => [args.join(' '), args] as const))(
    'long polls, streams and live views end within a second of %s, and those of others go on',
    async (_name, [group = '', verb = '', ...options]) => {
      const one = await addOperator()
      const others = await openAll(await logIn(bystander))
      const ended = await openAll(await logIn(one))
      await run(group, verb, ...(group === 'token' ? [...options, one.Email] : [one.Email, ...options]))
      await seenWithinASecond(async () => ended.seen, everywhere(401, 'ended', 'ended'))
      expect(others.seen).toEqual(everywhere('waits', 'waits', 'waits'))
      others.leave()
    },
  )

  it.each<[what: string, end: (ids: { readonly key: string; readonly customer: string }) => Promise<unknown>]>([
    ['key revoke', ({ key }) => run('key', 'revoke', key)],
    ['key rotate --overlap 0', ({ key }) => run('key', 'rotate', key, '--overlap', '0')],
    ['customer disable', ({ customer }) => run('customer', 'disable', customer)],
    ['customer remove', ({ customer }) => run('customer', 'remove', customer)],
    [
      'POST /Operator/key/KEYID/revoke',
      async ({ key }) => {
        const headers = { authorization: `Bearer ${await logIn(bystander)}` }
        const url = `${servers[0]?.url}/Operator/key/${key}/revoke`
        expect(await fetch(url, { method: 'POST', headers })).toMatchObject({ status: 200 })
      },
    ],
  ])('a key is refused within a second of %s, at every server', async (_what, end) => {
    const customer = await run('customer', 'add', '--email', `a${added++}@example.com`, '--generate', '--allow', '*')
    const { id, key } = await run('key', 'issue', '--customer', customer.id)
    const deliver = () =>
      Promise.all(
        servers.map(async ({ url }) => {
          const sent = { method: 'POST', headers: { ApiKey: key }, body: '{"Status":1}' }
          return (await fetch(`${url}/Purchase/update?validateOnly=true`, sent)).status
        }),
      )
    // The servers have the key in memory then.
    expect(await deliver()).toEqual(everywhere(200))
    await end({ key: id, customer: customer.id })
    await seenWithinASecond(deliver, everywhere(401))
  })

  it('a key that another process revokes while a body arrives delivers nothing', async () => {
    const supplier = await run('customer', 'add', '--email', 'slow@example.com', '--generate', '--allow', '*')
    const { id, key } = await run('key', 'issue', '--customer', supplier.id)
    const requests = await Promise.all(
      servers.map(async ({ url }) => {
        const headers = { ApiKey: key, expect: '100-continue' }
        const request = httpRequest(`${url}/Purchase/update`, { method: 'POST', agent: false, headers })
        request.flushHeaders()
        await once(request, 'continue')
        request.write('{"Status":')
        return request
      }),
    )
    const accepted = performance.now()
    await run('key', 'revoke', id)
    await until('the bodies took more than half a second', () => performance.now() - accepted > 500)
    const answers = requests.map(async (request) => {
      request.end('1}')
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      const { errorCode } = (await json(response)) as { errorCode: string }
      return [response.statusCode, errorCode]
    })
    expect(await Promise.all(answers)).toEqual(everywhere('refused').map(() => [401, 'API_KEY_INVALID']))
    expect(await run('delivery', 'list', '--customer', supplier.id)).toMatchObject([])
  })
})

import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createShares } from '#src/http/connections/shares.ts'
import { joinNetworks, trustedProxies } from '#src/lib/net/networks.ts'
import { failure } from '../support/app/failure.ts'
import { parseAnswers } from '../support/app/raw-http.ts'
import { addSupplier, readingSupplier } from '../support/app/supplier.ts'
import { testApp } from '../support/app/test-app.ts'
import { until } from '../support/until.ts'

describe('of all connections', () => {
  const nobody = joinNetworks([])
  /** How many an address gets. */
  const takeAll = (shares: ReturnType<typeof createShares>, addressOf: (index: number) => string): number => {
    for (let taken = 0; ; taken++) if (shares.take(addressOf(taken)) === undefined) return taken
  }

  it('a quarter is for one address or /64, and half for one /48', () => {
    const shares = createShares(1000, nobody)
    expect(takeAll(shares, () => '192.0.2.1')).toBe(250)
    expect(takeAll(shares, () => '::ffff:192.0.2.1')).toBe(0)
    expect(takeAll(shares, () => '192.0.2.2')).toBe(250)
    expect(takeAll(shares, (index) => `2001:db8:1:2::${index}`)).toBe(250)
    expect(takeAll(shares, (index) => `2001:db8:1:${index + 3}::1`)).toBe(250)
    expect(takeAll(shares, () => '2001:db8:1:ffff::1')).toBe(0)
    expect(takeAll(shares, () => '2001:db8:2::1')).toBe(250)
  })

  it('a few are for each, however few there are', () => {
    expect(takeAll(createShares(1, nobody), () => '192.0.2.1')).toBe(8)
  })

  it('a trusted proxy may have all', () => {
    const shares = createShares(10, trustedProxies('loopback, 10.0.0.0/8'))
    for (let taken = 0; taken < 100; taken++) expect(shares.take('::1') && shares.take('10.1.2.3')).toBeDefined()
    expect(shares.networks()).toBe(0)
  })

  it('none is given back twice, so that nobody gets more than the part', () => {
    const shares = createShares(1000, nobody)
    const [first] = [shares.take('192.0.2.1'), shares.take('192.0.2.1')]
    first?.()
    first?.()
    expect(takeAll(shares, () => '192.0.2.1')).toBe(249)
  })

  it('none is held by anybody once what was taken is given back, and no network is remembered', () => {
    const address = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.constantFrom('2001:db8::1', '2001:db8::2', '192.0.2.1', 'unknown'),
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(address, fc.boolean())), (visits) => {
        const shares = createShares(64, nobody)
        const releases = visits.flatMap(([visitor, leaves]) => {
          const release = shares.take(visitor)
          if (leaves) release?.()
          return leaves || release === undefined ? [] : [release]
        })
        for (const release of releases) release()
        expect(shares.networks()).toBe(0)
        for (const [visitor] of visits) expect(shares.isOver(visitor)).toBe(false)
      }),
    )
  })
})

describe('behind a trusted proxy', async () => {
  const LIMIT = 64
  const PART = LIMIT / 4
  const service = await testApp({
    TESLIM_TRUST_PROXY: 'loopback',
    TESLIM_MAX_CONNECTIONS: `${LIMIT}`,
    TESLIM_REQUEST_TIMEOUT: '2',
  })
  await service.app.listen({ port: 0 })
  const { port } = service.app.server.address() as AddressInfo
  const { key } = await addSupplier(service)
  // Whose polls nothing answers.
  const { token } = await readingSupplier(service)

  const open = (bytes: string): Socket => {
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => undefined).write(bytes)
    return socket
  }
  const head = (line: string, client: string, ...lines: string[]): string =>
    [`${line} HTTP/1.1`, 'Host: a', `X-Forwarded-For: ${client}`, ...lines, '', ''].join('\r\n')
  const poll = (client: string): string => head('GET /Purchase/feed?wait=60', client, `Authorization: Bearer ${token}`)
  const half = (client: string, apiKey = key): string =>
    `${head('POST /Purchase/update', client, `ApiKey: ${apiKey}`, 'Content-Length: 100')}{"Status"`
  const followers = async () => Number(/teslim_feed_followers (\d+)/.exec(await service.metrics.text('text'))?.[1])
  const waiting = (count: number) => until(`${count} wait`, async () => (await followers()) === count)
  const ask = async (bytes: string) => parseAnswers(await text(open(bytes)))[0]
  const deliver = (client: string) =>
    ask(
      `${head('POST /Purchase/update', client, `ApiKey: ${key}`, 'Connection: close', 'Content-Length: 12')}{"Status":1}`,
    )
  const leave = async (sockets: readonly Socket[]) => {
    for (const socket of sockets) socket.destroy()
    await waiting(0)
  }

  /** As many as a client may have, no more and no fewer; soon, as the end of a connection takes a moment to arrive. */
  const expectWholePart = async (client: string) => {
    let refused = 0
    await until('the whole part is free', async () => {
      refused = 0
      const all = Array.from({ length: PART }, () => open(poll(client)).on('data', () => void refused++))
      await until('each waits or is refused', async () => (await followers()) + refused === PART)
      if (refused === 0) expect(await deliver(client)).toMatchObject({ status: 503 })
      await leave(all)
      return refused === 0
    })
  }

  it.each([
    ['one IPv4 address', PART, () => '198.51.100.1'],
    ['one /64', PART, (index: number) => `2001:db8:1:1::${index}`],
    ['one /48', 2 * PART, (index: number) => `2001:db8:1:${index}::1`],
  ])('%s has its part of the requests under way, and a delivery of others is taken', async (_what, part, client) => {
    const all = Array.from({ length: part }, (_, index) => open(poll(client(index))))
    await waiting(part)
    const refused = await deliver(client(part))
    expect(refused).toMatchObject({ status: 503, body: failure('CONNECTIONS_OVERLOADED') })
    expect(refused?.head).toMatch(/^(?=.*retry-after: 1\r\n).*connection: close\r\n/s)
    expect(await ask(head('GET /livez', client(part), 'Connection: close'))).toMatchObject({ status: 200 })
    for (const other of ['198.51.100.2', '2001:db8:2::1']) expect(await deliver(other)).toMatchObject({ status: 200 })
    // Over the connections of the proxy itself, too.
    await leave(all)
    expect(await deliver(client(part))).toMatchObject({ status: 200 })
  })

  const CLIENT = '198.51.100.7'
  const connections = () => promisify(service.app.server.getConnections.bind(service.app.server))()
  const answered = async (socket: Socket, pattern: RegExp, bytes = '') => {
    let come = ''
    socket.write(bytes)
    socket.on('data', (part) => {
      come += part.toString('latin1')
    })
    await until(`${pattern} has come`, () => pattern.test(come))
  }
  const ENDINGS: Record<string, () => Promise<void>> = {
    'it is answered': async () => void (await deliver(CLIENT)),
    'it is answered, and its connection is kept': () => answered(open(head('GET /', CLIENT)), / 200 /),
    'it is refused': async () => void (await ask(head('GET /nowhere', CLIENT, 'Connection: close'))),
    'its client leaves while it waits': async () => {
      const socket = open(poll(CLIENT))
      await waiting(1)
      await leave([socket])
    },
    'its client resets the connection while it waits': async () => {
      const socket = open(poll(CLIENT))
      await waiting(1)
      socket.resetAndDestroy()
      await waiting(0)
    },
    'its client leaves while it waits behind another one': async () => {
      const socket = open(poll(CLIENT).repeat(3))
      await waiting(3)
      await leave([socket])
    },
    'it is a stream whose reader leaves': async () => {
      const socket = open(poll(CLIENT).replace('\r\n\r\n', '\r\nAccept: text/event-stream\r\n\r\n'))
      await answered(socket, /retry: /)
      await leave([socket])
    },
    'its client leaves in the middle of the body': async () => {
      const socket = open(half(CLIENT).replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n'))
      await answered(socket, / 100 /)
      socket.destroy()
    },
    'it is refused before its body has come, and its client leaves': async () => {
      const socket = open(half(CLIENT, 'x'))
      await answered(socket, / 401 /)
      socket.destroy()
    },
    'it is refused before its body has come, and the rest comes': async () => {
      const socket = open(half(CLIENT, 'x'))
      await answered(socket, / 401 /)
      socket.write('x'.repeat(100 - '{"Status"'.length))
    },
    'its body is not what it should be': async () => {
      const chunked = head('POST /Purchase/update', CLIENT, `ApiKey: ${key}`, 'Transfer-Encoding: chunked')
      expect(await ask(`${chunked}xyz\r\n`)).toMatchObject({ status: 400 })
    },
    'its body does not come in time': async () => expect(await ask(half(CLIENT))).toMatchObject({ status: 408 }),
    'it is an upload whose client leaves': async () => {
      const upload = head('POST /Purchase/updates', CLIENT, `ApiKey: ${key}`, 'Content-Length: 1000')
      const socket = open(`${upload}{"Status":1}\n`)
      await answered(socket, /"Line":1/)
      socket.destroy()
    },
  }

  it.each(Object.entries(ENDINGS))('a request is over when %s', async (_how, end) => {
    await end()
    await expectWholePart(CLIENT)
  })

  it('a request that was refused early counts as long as the rest of its body may come', async () => {
    const all = Array.from({ length: PART }, () => open(half(CLIENT, 'x')))
    await Promise.all(all.map((socket) => answered(socket, / 401 /)))
    expect(await deliver(CLIENT)).toMatchObject({ status: 503 })
    await leave(all)
    await expectWholePart(CLIENT)
  })

  it('the last eighth of the connections is for deliveries and health, and whoever sends nothing there is disconnected', async () => {
    const UNRESERVED = (LIMIT * 7) / 8
    const kept = Array.from({ length: UNRESERVED }, () => open(head('GET /', CLIENT)))
    await Promise.all(kept.map((socket) => answered(socket, / 200 /)))
    const [silent, delivering] = [open(''), open('')]
    await until('all have come', async () => (await connections()) === UNRESERVED + 2)
    const upload = head('POST /Purchase/updates', CLIENT, `ApiKey: ${key}`, 'Content-Length: 13')
    await answered(delivering, / 200 [\s\S]*"Line":1/, `${upload}{"Status":1}\n`)
    const get = (path: string) => ask(head(`GET ${path}`, CLIENT, 'Connection: close'))
    const refused = await get('/')
    expect(refused).toMatchObject({ status: 503, body: failure('CONNECTIONS_OVERLOADED') })
    expect(refused?.head).toMatch(/^(?=.*retry-after: 1\r\n).*connection: close\r\n/s)
    expect(await get('/Purchase/feed')).toMatchObject({ status: 503 })
    expect(await get('/livez')).toMatchObject({ status: 200 })
    expect(await get('/readyz')).toMatchObject({ status: 200 })
    expect(await deliver(CLIENT)).toMatchObject({ status: 200 })
    await until('who sends nothing is disconnected', () => silent.closed)
    expect(delivering.closed).toBe(false)
    // A request on a connection of before is refused, too, and ends it.
    const [first] = kept as [Socket]
    await answered(first, / 503 /, head('GET /', CLIENT))
    await until('its connection ends', () => first.closed)
    await until('there is room', async () => (await connections()) === UNRESERVED)
    expect(await get('/livez')).toMatchObject({ status: 200 })
    delivering.destroy()
    await until('there is room', async () => (await get('/'))?.status === 200)
  })
})

import { type AddressInfo, connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import { readingSupplier } from '../../support/app/supplier.ts'
import { inContainerOf, type TestApp, testApp } from '../../support/app/test-app.ts'
import { until } from '../../support/until.ts'

const MEGABYTE = 1024 * 1024
/** More than the system takes for a connection whose client reads nothing. */
const LARGE = `{"Status":1,"filler":"${'x'.repeat(7 * MEGABYTE)}"}`

async function serving() {
  // 32 MiB are for answers, and half of that for one customer beside nobody else.
  inContainerOf(512 * MEGABYTE)
  const service = await testApp({ TESLIM_BODY_LIMIT: `${8 * MEGABYTE}` }, { withThreads: true })
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  const customer = async () => {
    const supplier = await readingSupplier(service)
    await supplier.deliver(LARGE)
    return supplier
  }
  return { service, greedy: await customer(), other: await customer() }
}

const portOf = ({ app }: TestApp): number => (app.server.address() as AddressInfo).port

/** Takes all the room of a customer: asks for a page, and once it is made for another one, and reads neither. */
async function askWithoutReading(service: TestApp, token: string, path: string): Promise<Socket[]> {
  const { answers } = service.app.bodyBudget
  const sockets: Socket[] = []
  for (let i = 0; i < 2; i++) {
    const before = answers.available('anybody')
    const socket = connect(portOf(service), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => undefined).pause()
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: identity\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    )
    sockets.push(socket)
    await until('an answer waits', () => answers.available('anybody') < before)
  }
  return sockets
}

const refusal = { statusCode: 503, retryAfter: '2', errorCode: 'ANSWERS_OVERLOADED' }

async function read({ get }: Awaited<ReturnType<typeof readingSupplier>>, path: string) {
  const { statusCode, headers, payload } = await get(path)
  const retryAfter = headers['retry-after']
  return statusCode === 200 ? { statusCode } : { statusCode, retryAfter, errorCode: JSON.parse(payload).errorCode }
}

describe.each(['/Purchase/feed', '/Purchase/feed?wait=1'])('answers of %s that nobody reads', (path) => {
  it('leave no room for more of the same customer, and some for others, until they are read or their client is gone', async () => {
    const { service, greedy, other } = await serving()
    const { answers } = service.app.bodyBudget
    const sockets = await askWithoutReading(service, greedy.token, path)
    expect(await read(greedy, path)).toEqual(refusal)
    expect(await read(other, path)).toEqual({ statusCode: 200 })
    expect(await greedy.deliver('{"Status":1}')).toMatchObject({ Status: 1 })
    for (const socket of sockets) socket.destroy()
    await until('all room is given back', () => answers.available('anybody') === answers.limit)
    expect(await read(greedy, path)).toEqual({ statusCode: 200 })
  })
})

it('an answer that was not read for two seconds makes room for the next one', async () => {
  const { service, greedy } = await serving()
  await askWithoutReading(service, greedy.token, '/Purchase/feed')
  expect(await read(greedy, '/Purchase/feed')).toEqual(refusal)
  service.clock.time += 2000
  expect(await read(greedy, '/Purchase/feed')).toEqual({ statusCode: 200 })
})

it('small answers that wait behind others count, too', async () => {
  const { service, greedy } = await serving()
  const { answers } = service.app.bodyBudget
  const socket = connect(portOf(service), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const authorization = `Host: a\r\nAuthorization: Bearer ${greedy.token}\r\n\r\n`
  const cursor = (await greedy.get('/Purchase/feed')).json().data.NextCursor as string
  socket.write(`GET /Purchase/feed?wait=30&after=${cursor} HTTP/1.1\r\n${authorization}`)
  socket.write(`GET /Purchase/list HTTP/1.1\r\n${authorization}`.repeat(20))
  await until('the answers behind the long poll are counted', () => answers.available('anybody') < answers.limit)
  socket.destroy()
  await until('they are given back', () => answers.available('anybody') === answers.limit)
})

it('a large answer arrives whole, with its length', async () => {
  const { service, greedy } = await serving()
  const answer = await fetch(`http://127.0.0.1:${portOf(service)}/Purchase/feed`, {
    headers: { Authorization: `Bearer ${greedy.token}`, 'Accept-Encoding': 'identity', Connection: 'close' },
  })
  const bytes = Buffer.from(await answer.arrayBuffer())
  expect(answer.headers.get('content-length')).toBe(`${bytes.length}`)
  expect(bytes.toString()).toBe((await greedy.get('/Purchase/feed')).payload)
  const { answers } = service.app.bodyBudget
  expect(answers.available('anybody')).toBe(answers.limit)
})

import { type AddressInfo, connect, type Socket } from 'node:net'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createFollowers } from '#src/purchase/feed/followers.ts'
import { failure } from '../../support/app/failure.ts'
import { operating } from '../../support/app/operating.ts'
import { parseAnswers } from '../../support/app/raw-http.ts'
import { readingSupplier } from '../../support/app/supplier.ts'
import { TestClock, testApp } from '../../support/app/test-app.ts'
import { until } from '../../support/until.ts'

const MOST = 64

describe('followers of one customer', () => {
  const refusal = expect.objectContaining({ code: 'CONNECTIONS_OVERLOADED', kind: 'unavailable' })
  /** As many as there may be of one customer. */
  const full = () => {
    const clock = new TestClock()
    const followers = createFollowers(clock)
    const ended: number[] = []
    const leaves = Array.from({ length: MOST }, (_, index) => followers.join('one', () => void ended.push(index)))
    return { clock, followers, ended, leaves }
  }

  it('are 64 at most, those of others are counted by themselves, and one that leaves makes room once', () => {
    const { followers, leaves } = full()
    expect(() => followers.join('one')).toThrow(refusal)
    expect(followers.join('other')).toBeTypeOf('function')
    leaves[7]?.()
    leaves[7]?.()
    expect(followers.count()).toBe(MOST)
    followers.join('one')
    expect(() => followers.join('one')).toThrow(refusal)
  })

  it('lose the oldest stream to a new follower once it has been open for a minute, and no long poll', () => {
    const clock = new TestClock()
    const followers = createFollowers(clock)
    const ended: number[] = []
    followers.join('one')
    const leaves = Array.from({ length: MOST - 1 }, (_, index) => followers.join('one', () => void ended.push(index)))
    clock.time += 59_999
    expect(() => followers.join('one')).toThrow(refusal)
    clock.time += 1
    followers.join('one')
    followers.join('one', () => undefined)
    expect([ended, followers.count()]).toEqual([[0, 1], MOST])
    // It has lost its place, and takes that of no other one when it ends.
    leaves[0]?.()
    expect(followers.count()).toBe(MOST)
  })

  it('are all forgotten when they have left', () => {
    const { followers, leaves } = full()
    for (const leave of leaves) leave()
    expect(followers.count()).toBe(0)
  })
})

describe('the feed', async () => {
  const service = await testApp()
  await service.app.listen({ port: 0 })
  const { port } = service.app.server.address() as AddressInfo
  const [mine, other] = [await readingSupplier(service), await readingSupplier(service)]

  const open = (path: string, token: string, more = '') => {
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    let come = ''
    socket
      .on('error', () => undefined)
      .on('data', (part) => {
        come += part.toString('latin1')
      })
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n${more}\r\n`)
    return { socket, come: () => come }
  }
  const stream = (token: string, query = '') => open(`/Purchase/feed?${query}`, token, 'Accept: text/event-stream\r\n')
  const poll = (token: string, query = '') => open(`/Purchase/feed?wait=60&${query}`, token)
  const followers = async () => Number(/teslim_feed_followers (\d+)/.exec(await service.metrics.text('text'))?.[1])
  const following = (count: number) => until(`${count} follow`, async () => (await followers()) === count)
  const end = async () => `after=${(await mine.get('/Purchase/feed?limit=1000')).json().data.NextCursor}`
  const fill = async () => {
    const after = await end()
    const all = Array.from({ length: MOST }, (_, index) => (index % 2 === 0 ? stream : poll)(mine.token, after))
    await following(MOST)
    return all
  }
  const connections = () => promisify(service.app.server.getConnections.bind(service.app.server))()
  const leave = async (all: readonly { readonly socket: Socket }[]) => {
    for (const { socket } of all) socket.destroy()
    await following(0)
  }

  it('refuses the 65th stream or long poll of a customer, but no page without waiting, and nobody else', async () => {
    const all = await fill()
    for (const begin of [stream, poll]) {
      const { come } = begin(mine.token)
      await until('it is refused', () => come().endsWith('}\n'))
      const [answer] = parseAnswers(come())
      expect(answer).toMatchObject({
        status: 503,
        body: failure('CONNECTIONS_OVERLOADED', { message: expect.stringMatching(/^As many streams/) }),
      })
      expect(answer?.head).toContain('retry-after: 10\r\n')
    }
    expect((await mine.get('/Purchase/feed')).statusCode).toBe(200)
    const others = [stream(other.token), poll(other.token)]
    await following(MOST + 2)
    await leave([...all, ...others])
  })

  it('has a place again as soon as a long poll is answered or its client leaves', async () => {
    const all = await fill()
    const [, first] = all as [unknown, (typeof all)[number]]
    first.socket.destroy()
    await following(MOST - 1)
    const next = poll(mine.token, await end())
    await following(MOST)
    await mine.deliver({ Status: 1 })
    await until('the polls are answered', async () => next.come().includes('"ReceiptID"'))
    await following(MOST / 2)
    await leave([...all, next])
  })

  it('ends the stream that has been open longest for a new one, if a minute has passed', async () => {
    const all = Array.from({ length: MOST }, () => stream(mine.token))
    await following(MOST)
    service.clock.time += 60_000
    const next = stream(mine.token)
    await until('a stream has ended', () => all.some(({ come }) => come().endsWith('\r\n0\r\n\r\n')))
    await until('the new one has begun', () => next.come().includes('retry: '))
    expect([all.filter(({ come }) => come().endsWith('\r\n0\r\n\r\n')).length, await followers()]).toEqual([1, MOST])
    await leave([...all, next])
  })

  it.each([
    ['stream', stream],
    ['long poll', poll],
  ])('keeps no place for a %s whose client has left before it began', async (_kind, begin) => {
    const { customers } = service.store
    const { findById } = customers
    const { token } = await operating(service)
    const { id: quiet } = other.customer
    const { promise: goOn, resolve } = Promise.withResolvers<void>()
    let asked = 0
    const slow = vi.spyOn(customers, 'findById').mockImplementation(async (id) => {
      if (id === quiet) asked++
      if (id === quiet) await goOn
      return findById(id)
    })
    onTestFinished(() => void slow.mockRestore())
    const all = Array.from({ length: MOST }, () => begin(token, `customer=${quiet}`))
    await until('all are looked up', () => asked === MOST)
    for (const { socket } of all) socket.destroy()
    await until('all are gone', async () => (await connections()) === 0)
    resolve()
    const next = stream(token)
    await until('a stream begins', () => next.come().includes('retry: '))
    await following(1)
    next.socket.destroy()
    await following(0)
  })
})

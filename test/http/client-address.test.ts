import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { clientAddress } from '#src/http/request-head.ts'
import { type TestApp, testApp } from '../support/app/test-app.ts'

const direct = await testApp()
const behind = await testApp({ TESLIM_TRUST_PROXY: 'loopback, 10.0.0.0/8,2001:db8::/32' })

const logged = async ({ app, log }: TestApp, forwarded: string, remoteAddress = '127.0.0.1') => {
  log.length = 0
  await app.inject({ url: '/livez', remoteAddress, headers: { 'x-forwarded-for': forwarded } })
  return log[0]?.address
}

describe('X-Forwarded-For', () => {
  it('is ignored unless it comes from a trusted proxy', async () => {
    expect(await logged(direct, '192.0.2.1')).toBe('127.0.0.1')
    expect(await logged(behind, '192.0.2.1', '198.51.100.1')).toBe('198.51.100.1')
  })

  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['203.0.113.9, 192.0.2.1', '192.0.2.1'],
    ['203.0.113.9, 192.0.2.1, 10.1.2.3', '192.0.2.1'],
    ['192.0.2.1:4711', '192.0.2.1'],
    ['[2a00:1::2]:4711', '2a00:1::2'],
    ['2a00:1::2', '2a00:1::2'],
    // Deliveries are searched for by addresses as they are usually written.
    ['2A00:0001:0:0::2', '2a00:1::2'],
    ['[2A00:1::0002]:4711', '2a00:1::2'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['"},{"level":60', '127.0.0.1'],
    ['', '127.0.0.1'],
  ])('from a trusted one, %j names %s', async (forwarded, address) => {
    expect(await logged(behind, forwarded)).toBe(address)
  })

  it('whatever it holds leaves one line of JSON with an address', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ maxLength: 40 }), async (garbage) => {
        expect(await logged(behind, garbage.replace(/[^\x20-\x7e]/g, '"'))).toMatch(/^[0-9a-f.:]+$/i)
        expect(behind.log).toHaveLength(1)
      }),
    )
  })

  it.each([
    'on',
    '*',
    '10.0.0.0/33',
    '0.0.0.0/0',
    '::/0',
    '::ffff:0:0/96',
    '10.0.0',
    'off,10.0.0.1',
    '10.0.0.1,',
    'fe80::1%eth0',
    '1.2.3.4/08',
  ])('is trusted from %j by no setting', (value) => {
    expect(() => loadConfig({ TESLIM_TRUST_PROXY: value })).toThrow(/TESLIM_TRUST_PROXY.*it must be off, or addresses/)
  })
})

it('a connection that closed before its request was handled has no address, and the request goes on', () => {
  expect(clientAddress({ ip: undefined, socket: { remoteAddress: undefined } as never })).toBe('unknown')
})

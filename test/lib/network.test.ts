import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  addressBytes,
  commonText,
  contains,
  isNetwork,
  type Network,
  neighboursOf,
  readPrefix,
} from '#src/lib/net/network.ts'

const address = fc.oneof(
  fc.ipV4(),
  fc
    .array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), { minLength: 8, maxLength: 8 })
    .map((groups) => new URL(`http://[${groups.map((group) => group.toString(16)).join(':')}]`).hostname.slice(1, -1)),
)

it('every address of a network has the text that they have in common, as sockets spell it', () => {
  fc.assert(
    fc.property(address, fc.integer({ min: 0, max: 128 }), (text, bits) => {
      const most = text.includes(':') ? 128 : 32
      const network = readPrefix(`${text}/${Math.min(bits, most)}`)
      // A network of IPv4 addresses that are mapped into IPv6 begins at 96 bits.
      if (!isNetwork(network)) return
      expect(contains(network, addressBytes(text) ?? [])).toBe(true)
      if (network.bytes.length === 16 || most === 32) expect(text).toContain(commonText(network))
    }),
  )
})

it.each([
  ['203.0.113.7', '203.0.113.7'],
  ['203.0.113.0/24', '203.0.113.'],
  ['203.0.113.0/25', '203.0.113.'],
  ['203.0.0.0/7', ''],
  ['::ffff:203.0.113.0/120', '203.0.113.'],
  ['2001:db8:1:2::/64', '2001:db8:1:2:'],
  ['2001:db8::/64', '2001:db8:'],
  ['2001:db8:0:2::7', '2001:db8:0:2::7'],
  ['::/0', ''],
])('the text of %s is %j', (text, common) => {
  expect(commonText(readPrefix(text) as Network)).toBe(common)
})

it.each([
  ['203.0.113.77', '203.0.113.0/24'],
  ['::ffff:203.0.113.77', '203.0.113.0/24'],
  ['2001:db8:1:2:3::4', '2001:db8:1:2::/64'],
  ['unknown', 'unknown'],
])('%s has its neighbours in %s', (text, network) => {
  expect(neighboursOf(text)).toBe(network)
})

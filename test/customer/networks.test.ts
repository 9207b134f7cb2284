import { BlockList } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkNetworks, compileNetworks, isWithin } from '#src/customer/networks.ts'

const byte = fc.integer({ min: 0, max: 255 })
/** Few different bytes, so that addresses often share long prefixes. */
const nearByte = fc.constantFrom(0, 1, 127, 128, 254, 255)
const bytesOf = (length: number) =>
  fc.array(fc.oneof(byte, nearByte, nearByte, nearByte), { minLength: length, maxLength: length })

const binary = (bytes: readonly number[]): string => bytes.map((one) => one.toString(2).padStart(8, '0')).join('')
const groupsOf = (bytes: readonly number[]): string[] =>
  Array.from({ length: 8 }, (_, index) => {
    const [high = 0, low = 0] = bytes.slice(2 * index)
    return (256 * high + low).toString(16)
  })

interface Written {
  readonly bytes: readonly number[]
  readonly text: string
  /** Added to the prefix length by this spelling. */
  readonly more: number
}

const dotted = (bytes: readonly number[]): Written => ({ bytes, text: bytes.join('.'), more: 0 })
const mappedDotted = (bytes: readonly number[]): Written => ({ bytes, text: `::FFFF:${bytes.join('.')}`, more: 96 })
const mappedHex = (bytes: readonly number[]): Written => {
  const [high, low] = groupsOf(bytes)
  return { bytes, text: `0:0:0:0:0:ffff:${high?.padStart(4, '0')}:${low}`, more: 96 }
}
const long = (bytes: readonly number[]): Written => ({ bytes, text: groupsOf(bytes).join(':').toUpperCase(), more: 0 })
const compressed = (bytes: readonly number[]): Written => {
  const groups = groupsOf(bytes)
  const from = groups.indexOf('0')
  const text = from < 0 ? groups.join(':') : `${groups.slice(0, from).join(':')}::${groups.slice(from + 1).join(':')}`
  return { bytes, text, more: 0 }
}

const isMapped = (bytes: readonly number[]): boolean => binary(bytes).startsWith('0'.repeat(80) + '1'.repeat(16))
const written4 = fc
  .tuple(bytesOf(4), fc.constantFrom(dotted, mappedDotted, mappedHex))
  .map(([bytes, write]) => write(bytes))
const written6 = fc
  .tuple(
    bytesOf(16).filter((bytes) => !isMapped(bytes)),
    fc.constantFrom(long, compressed),
  )
  .map(([bytes, write]) => write(bytes))
const written = fc.oneof(written4, written6)

/** A network in one of its spellings, with the bits of its prefix. */
const network = fc.tuple(written, fc.nat(127)).map(([{ bytes, text, more }, some]) => {
  const prefix = 1 + (some % (8 * bytes.length))
  const cleared = bytes.map((one, index) => one & (0xff << Math.min(8, Math.max(0, 8 * (index + 1) - prefix))))
  const respelled = [dotted, mappedDotted, mappedHex, long, compressed].find((write) => write(bytes).text === text)
  return {
    text: `${respelled?.(cleared).text}/${prefix + more}`,
    family: bytes.length,
    prefix,
    bits: binary(cleared).slice(0, prefix),
    address: cleared,
  }
})
type Network = typeof network extends fc.Arbitrary<infer Value> ? Value : never

const near = (networks: readonly Network[]) =>
  fc.oneof(
    written,
    // An address of one of the networks, or with one bit changed.
    fc.tuple(fc.constantFrom(...networks), fc.nat(127), bytesOf(16)).map(([{ address, family, bits }, flip, rest]) => {
      const all = (bits + binary(rest)).slice(0, 8 * family).split('')
      const at = flip % (16 * family)
      if (at < all.length) all[at] = all[at] === '0' ? '1' : '0'
      const bytes = address.map((_, index) => Number.parseInt(all.slice(8 * index, 8 * index + 8).join(''), 2))
      return family === 4 ? dotted(bytes) : long(bytes)
    }),
  )

const cases = fc
  .array(network, { minLength: 1, maxLength: 6 })
  .chain((networks) => fc.tuple(fc.constant(networks), fc.array(near(networks), { minLength: 1, maxLength: 8 })))

describe('networks', () => {
  it('contain exactly the addresses whose bits begin with those of a prefix', () => {
    let [inside, outside] = [0, 0]
    fc.assert(
      fc.property(cases, ([networks, addresses]) => {
        const compiled = compileNetworks(checkNetworks(networks.map(({ text }) => text)))
        for (const { bytes, text } of [...addresses, ...addresses]) {
          const expected = networks.some(
            ({ family, bits }) => family === bytes.length && binary(bytes).startsWith(bits),
          )
          expect(compiled.contain(text), text).toBe(expected)
          if (expected) inside++
          else outside++
        }
      }),
      { numRuns: 1000 },
    )
    expect(Math.min(inside, outside)).toBeGreaterThan(1000)
  })

  it("contain the addresses that Node's own list contains", () => {
    fc.assert(
      fc.property(cases, ([networks, addresses]) => {
        const compiled = compileNetworks(checkNetworks(networks.map(({ text }) => text)))
        // Node's list lets an IPv6 network contain IPv4 addresses: see the last test.
        const lists = { 4: new BlockList(), 16: new BlockList() }
        for (const { family, address, prefix } of networks) {
          if (family === 4) lists[4].addSubnet(dotted(address).text, prefix)
          else lists[16].addSubnet(long(address).text, prefix, 'ipv6')
        }
        for (const { bytes, text } of addresses) {
          const expected =
            bytes.length === 4 ? lists[4].check(dotted(bytes).text) : lists[16].check(long(bytes).text, 'ipv6')
          expect(compiled.contain(text), text).toBe(expected)
        }
      }),
      { numRuns: 1000 },
    )
  })

  it('have one spelling, which is read back as itself', () => {
    fc.assert(
      fc.property(fc.array(network, { minLength: 1, maxLength: 8 }), (networks) => {
        const canonical = checkNetworks(networks.map(({ text }) => text))
        expect(checkNetworks(canonical.toReversed())).toEqual(canonical)
        expect(canonical).toHaveLength(new Set(networks.map(({ family, bits }) => `${family} ${bits}`)).size)
      }),
    )
  })

  it('lie within others when their addresses do', () => {
    fc.assert(
      fc.property(network, network, (one, other) => {
        const expected = one.family === other.family && one.bits.startsWith(other.bits)
        const [[first = ''], second] = [checkNetworks([one.text]), checkNetworks([other.text])]
        expect(isWithin(first, second)).toBe(expected)
        expect(isWithin(first, [...second, first])).toBe(true)
      }),
    )
  })

  it.each([
    [['203.0.113.0/24'], ['203.0.113.0/24']],
    [['203.0.113.7/32', '203.0.113.7'], ['203.0.113.7']],
    [['2001:DB8:0:0:0:0:0:0/32'], ['2001:db8::/32']],
    [['2001:db8::1/128'], ['2001:db8::1']],
    [['::ffff:1.2.3.4'], ['1.2.3.4']],
    [['::ffff:0102:0304'], ['1.2.3.4']],
    [['::ffff:1.2.3.0/120'], ['1.2.3.0/24']],
    [
      ['::1', '10.0.0.0/8', '9.0.0.0/8', '10.0.0.0/9'],
      ['9.0.0.0/8', '10.0.0.0/8', '10.0.0.0/9', '::1'],
    ],
    [['::1.2.3.4'], ['::102:304']],
  ])('%j are stored as %j', (given, stored) => {
    expect(checkNetworks(given)).toEqual(stored)
  })

  it.each([
    ['', '"" is not a network'],
    ['203.0.113.7/24', '"203.0.113.7/24" names an address in a network: write 203.0.113.0/24 for'],
    ['2001:db8::1/32', '"2001:db8::1/32" names an address in a network: write 2001:db8::/32 for'],
    ['::ffff:1.2.3.4/120', 'write 1.2.3.0/24 for'],
    ['203.0.113.0/33', '"203.0.113.0/33" has a wrong prefix length: from 1 to 32'],
    ['2001:db8::/129', '"2001:db8::/129" has a wrong prefix length: from 1 to 128'],
    ['::ffff:1.2.3.4/95', '"::ffff:1.2.3.4/95" has a wrong prefix length: from 97 to 128'],
    ['0.0.0.0/0', '"0.0.0.0/0" contains every address: write "anywhere"'],
    ['::/0', '"::/0" contains every address'],
    ['fe80::1%eth0', '"fe80::1%eth0" has a zone id'],
    ['fe80::%1/64', '"fe80::%1/64" has a zone id'],
    ...[
      'shop.example.com',
      'localhost',
      '203.0.113',
      '203.0.113.0/',
      '203.0.113.0/08',
      '203.0.113.0/-1',
      '203.0.113.0/24/24',
      '203.0.113.0/255.255.255.0',
      '203.0.113.256',
      '010.0.0.1',
      '0x7f.0.0.1',
      '203.0.113.7:443',
      '[2001:db8::1]',
      '2001:db8:::1',
      '1::2::3',
      '*',
      'anywhere',
      ' 10.0.0.1',
      '10.0.0.1\n',
      '10.0.0.0/2４',
    ].map((text) => [text, `${JSON.stringify(text)} is not a network`]),
  ])('%j is refused, and the message names it', (text = '', message = '') => {
    expect(() => checkNetworks(['10.0.0.0/8', text])).toThrow(
      expect.objectContaining({ code: 'NETWORK_INVALID', message: expect.stringContaining(message) }),
    )
  })

  it('are some, and not too many', () => {
    const many = Array.from({ length: 101 }, (_, index) => `10.0.0.${index}`)
    expect(() => checkNetworks([])).toThrow('The list of networks is empty')
    expect(() => checkNetworks(many)).toThrow('at most 100 networks, not 101')
    expect(checkNetworks([...many.slice(1), ...many.slice(1)])).toHaveLength(100)
  })

  it('contain nothing that is no address', () => {
    const { contain } = compileNetworks(['0.0.0.0/1', '128.0.0.0/1', '::/1', '8000::/1'])
    expect(['1.2.3.4', '::1', 'fe80::1%eth0', '::ffff:9.9.9.9', 'ffff::'].map(contain)).not.toContain(false)
    for (const text of ['', 'unknown', '1.2.3', '1.2.3.4:5', '[::1]', '%', 'undefined'])
      expect(contain(text)).toBe(false)
    fc.assert(fc.property(fc.string(), (text) => void contain(text)))
  })

  it('of IPv6 do not contain IPv4, even when they contain the mapped form', () => {
    const { contain } = compileNetworks(['::/1'])
    expect([contain('1.2.3.4'), contain('::ffff:1.2.3.4'), contain('::1')]).toEqual([false, false, true])
  })
})

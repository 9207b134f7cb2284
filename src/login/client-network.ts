import { isIP } from 'node:net'

/** A provider gives one subscriber at least the first 64 bits of an IPv6 address. */
const GROUPS = 8
const NETWORK_GROUPS = 4

/** The unit of counting failures: an IPv4 address (also in IPv6 notation), or the first half of an IPv6 address. */
export function clientNetwork(address: string): string {
  const [plain = ''] = address.split('%', 1)
  if (isIP(plain) !== 6) return plain
  const groups = groupsOf(plain)
  const isIpv4 = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (isIpv4) return [groups[6], groups[7]].flatMap((group = 0) => [group >> 8, group & 0xff]).join('.')
  return `${groups
    .slice(0, NETWORK_GROUPS)
    .map((group) => group.toString(16))
    .join(':')}::/64`
}

function groupsOf(address: string): number[] {
  const hexadecimal = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...bytes: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number)
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
  })
  const [before = '', after] = hexadecimal.split('::')
  const parse = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
  const [first, last] = [parse(before), parse(after ?? '')]
  return [...first, ...new Array<number>(GROUPS - first.length - last.length).fill(0), ...last]
}

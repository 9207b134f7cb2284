import { describe, expect, it } from 'vitest'
import { describeConfig } from '#src/config/describe-config.ts'
import { loadConfig } from '#src/config/load-config.ts'
import { settingProblems } from '../support/app/setting-problems.ts'

const read = (written: string) => loadConfig({ TESLIM_OPERATOR_NETWORKS: written })

describe('TESLIM_OPERATOR_NETWORKS', () => {
  it('is a list of addresses and networks, kept in one spelling and shown in it', () => {
    const loaded = read(' 203.0.113.7 ,::ffff:10.0.0.0/104, 2001:DB8:0::/32,10.0.0.0/8')
    expect(loaded.config.operatorNetworks).toEqual(['203.0.113.7', '10.0.0.0/8', '2001:db8::/32'])
    const shown = describeConfig(loaded).find(({ variable }) => variable === 'TESLIM_OPERATOR_NETWORKS')
    expect(shown).toMatchObject({ value: '203.0.113.7,10.0.0.0/8,2001:db8::/32', source: 'environment', default: '' })
  })

  it('is empty unless set', () => {
    expect([loadConfig({}), read('')].map(({ config }) => config.operatorNetworks)).toEqual([[], []])
  })

  it.each([
    ['office.example', 'is not a network'],
    ['10.0.0.0/8,', '"" is not a network'],
    ['10.0.0.1/8', 'write 10.0.0.0/8 for the network, or the address alone'],
    ['10.0.0.0/33', 'has a wrong prefix length'],
    ['0.0.0.0/0', '"0.0.0.0/0" contains every address'],
    ['10.0.0.1,::/0', '"::/0" contains every address'],
    ['fe80::1%eth0', 'has a zone id'],
    ['loopback', '"loopback" is not a network'],
  ])('may not be %j, and the start says that it %s', (written, why) => {
    const [problem, ...others] = settingProblems({ TESLIM_OPERATOR_NETWORKS: written })
    expect(others).toEqual([])
    expect(problem).toMatch(/^TESLIM_OPERATOR_NETWORKS: .* is not allowed, it must be addresses and networks/)
    expect(problem).toContain(why)
  })
})

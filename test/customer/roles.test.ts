import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keepsRights, type Role, readScope, rightsOf, SCOPES, scopeText } from '#src/customer/rights.ts'
import { changedRole, NO_ROLE, type RoleParts } from '#src/customer/roles.ts'

const role = (scope: Role['scope'], payloads = false): Role => ({ scope, payloads })
const [customer, feed, support, reader, operator] = [
  NO_ROLE,
  role('feed'),
  role('operator:support'),
  role('operator:read'),
  role('operator'),
]
const withPayloads = role('operator:support', true)
const all = [customer, feed, support, withPayloads, reader, operator]

const changed = (former: Role, parts: RoleParts): Role | string => {
  try {
    return changedRole(former, parts)
  } catch (error) {
    return (error as { code: string }).code
  }
}

describe('a role', () => {
  it.each([
    [customer, { operator: true }, operator],
    [reader, { operator: true }, reader],
    [support, { operator: true }, support],
    [feed, { operator: true }, operator],
    [operator, { operator: false }, customer],
    [withPayloads, { operator: false }, customer],
    [feed, { operator: false }, feed],
    [customer, { operator: true, readOnly: true }, reader],
    [withPayloads, { readOnly: true }, reader],
    [reader, { readOnly: false }, operator],
    [support, { readOnly: false }, support],
    [customer, { readOnly: false, support: false, feed: false, payloads: false }, customer],
    [operator, { support: true }, support],
    [reader, { support: true, payloads: true }, withPayloads],
    [withPayloads, { support: true }, withPayloads],
    [withPayloads, { payloads: false }, support],
    [withPayloads, { support: false }, operator],
    [operator, { feed: true }, feed],
    [feed, { feed: false }, customer],
    [feed, { feed: false, operator: true, readOnly: true }, reader],
    [customer, { readOnly: true }, 'READ_ONLY_ALONE'],
    [operator, { operator: false, readOnly: true }, 'READ_ONLY_ALONE'],
    [feed, { support: true }, 'SUPPORT_ALONE'],
    [operator, { payloads: true }, 'PAYLOADS_ALONE'],
    [feed, { payloads: true }, 'PAYLOADS_ALONE'],
    [operator, { readOnly: true, support: true }, 'ROLES_TOGETHER'],
    [customer, { feed: true, operator: true }, 'ROLES_TOGETHER'],
    [operator, { feed: true, support: true }, 'ROLES_TOGETHER'],
  ])('%j with %j is %j', (former, parts, expected) => {
    expect(changed(former, parts)).toEqual(expected)
  })

  it('never gets more rights than somebody names, whatever is taken away', () => {
    const taken = fc.constantFrom(undefined, false as const)
    const parts = fc.record({ operator: taken, payloads: taken, feed: taken })
    fc.assert(
      fc.property(fc.constantFrom(...all), parts, (former, away) => {
        // A customer that is nothing else reads what is its own.
        const now = rightsOf(changedRole(former, away))
        expect([...now].filter((right) => !rightsOf(former).has(right) && right !== 'look')).toEqual([
          ...(former.scope === 'operator:support' && !former.payloads && away.operator === false ? ['payloads'] : []),
        ])
      }),
    )
  })

  it('has all rights as an operator, and each scope has a name of its own in a token', () => {
    for (const one of all) {
      expect(keepsRights(one, operator)).toBe(true)
      expect(readScope(scopeText(one))).toEqual(one)
    }
    expect(new Set(all.map(scopeText)).size).toBe(all.length)
    expect(SCOPES).toEqual(['customer', 'feed', 'operator:support', 'operator:read', 'operator'])
    for (const text of ['', 'toString', 'operator payloads', 'operator:support payloads payloads', undefined, 1])
      expect(readScope(text)).toBeUndefined()
  })
})

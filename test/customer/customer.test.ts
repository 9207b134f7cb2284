import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isAuthorityRule } from '#src/customer/authority.ts'
import { canonicalEmail } from '#src/customer/email.ts'
import { judgePassword } from '#src/customer/password-policy.ts'
import { readRegion } from '#src/customer/region.ts'
import { anyText } from '../support/any-text.ts'
import { addCustomer, PASSWORD, testApp } from '../support/test-app.ts'

describe('an e-mail address', () => {
  it.each([
    [' A.B@Example.COM  ', 'a.b@example.com'],
    ['İ@x.y', 'İ@x.y'],
    ['I@x.y', 'i@x.y'],
    ['ı@x.y', 'ı@x.y'],
    ['\u212a@x.y', '\u212a@x.y'],
    ['\u017f@x.y', '\u017f@x.y'],
    ['e\u0301@x.y', 'e\u0301@x.y'],
  ])('%j is compared as %j', (typed, canonical) => {
    expect(canonicalEmail(typed)).toBe(canonical)
  })

  it.each(['', '@', 'a@', '@b', 'a b@c', 'a@b@c', 'a@b\t', '\ta@b', 'a\0@b', '\ud800@b', `${'a'.repeat(254)}@b`])(
    '%j belongs to nobody',
    (typed) => {
      expect(canonicalEmail(typed)).toBeUndefined()
    },
  )

  it('takes linear time, however many spaces it holds and wherever', () => {
    const spaces = ' '.repeat(1_000_000)
    expect(canonicalEmail(`x${spaces}x@y.z`)).toBeUndefined()
    expect(canonicalEmail(`${spaces}x@y.z${spaces}`)).toBe('x@y.z')
  })

  it('is the same however often it is made canonical', () => {
    fc.assert(
      fc.property(anyText(), anyText(), (local, domain) => {
        const once = canonicalEmail(`${local}@${domain}`)
        if (once !== undefined) expect(canonicalEmail(` ${once} `)).toBe(once)
      }),
    )
  })
})

it.each([
  [undefined, 'TR'],
  ['', 'TR'],
  ['de', 'DE'],
  ['Us', 'US'],
  ['T', undefined],
  ['TUR', undefined],
  ['T1', undefined],
  ['İR', undefined],
  ['TR, DE', undefined],
])('the region %j is read as %j', (sent, read) => {
  expect(readRegion(sent)).toBe(read)
})

it.each([
  ['ABC-1', true],
  ['ABC-*', true],
  ['*', true],
  ['çay 1kg', true],
  ['', false],
  ['A*B', false],
  ['**', false],
  ['*A', false],
  [' A', false],
  ['A\n', false],
  ['\ud800', false],
  ['A'.repeat(201), false],
])('%j as an authority rule: %j', (rule, valid) => {
  expect(isAuthorityRule(rule)).toBe(valid)
})

describe('a password that is set', () => {
  it.each([
    ['seven77', 'PASSWORD_SHORT'],
    ['Password123', 'PASSWORD_COMMON'],
    ['fenerbahce', 'PASSWORD_COMMON'],
    ['x'.repeat(1025), 'PASSWORD_UNUSABLE'],
    ['ü'.repeat(513), 'PASSWORD_UNUSABLE'],
    ['lone \ud800 surrogate', 'PASSWORD_UNUSABLE'],
  ])('%j is refused with %s', (password, code) => {
    expect(judgePassword(password)).toMatchObject({ refusal: { code } })
  })

  it.each(['        ', 'x'.repeat(1024), '\u{1f512}'.repeat(15), ' leading and trailing '])(
    '%j is taken',
    (password) => {
      expect(judgePassword(password)).not.toHaveProperty('refusal')
    },
  )

  it('is warned about under 15 characters, counted as people count them', () => {
    expect(judgePassword('fourteen chars')).toEqual({
      warning: 'The password has 14 characters; 15 or more are safer.',
    })
    expect(judgePassword('fifteen chars !')).toEqual({})
    expect(judgePassword('\u{1f512}'.repeat(8))).toEqual({ warning: expect.stringContaining('8 characters') })
  })
})

describe('customers', async () => {
  const service = await testApp()
  const { customers, store } = service

  it('are stored under the canonical address, with sets of regions and rules, and no view shows the hash', async () => {
    const added = await addCustomer(service, {
      email: ' Mixed@Example.com ',
      regions: ['tr', 'DE', 'TR'],
      authority: ['b', 'a', 'b'],
    })
    expect(added).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      email: 'mixed@example.com',
      isApi: true,
      operator: false,
      readOnly: false,
      enabled: true,
      regions: ['DE', 'TR'],
      authority: ['a', 'b'],
      tokensValidFrom: 0,
      createdAt: service.clock.now(),
      hasPassword: true,
    })
    const { passwordHash, ...rest } = (await store.customers.findById(added.id)) ?? { passwordHash: '' }
    expect({ ...rest, hasPassword: true }).toEqual(added)
    expect(passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(await customers.show('MIXED@example.COM')).toEqual(added)
    expect(await customers.show(added.id)).toEqual(added)
  })

  it.each([
    [{ email: 'nobody' }, 'EMAIL_INVALID'],
    [{ regions: ['TUR'] }, 'REGION_INVALID'],
    [{ regions: [''] }, 'REGION_INVALID'],
    [{ authority: ['a', 'b*c'] }, 'AUTHORITY_RULE_INVALID'],
    [{ password: 'short' }, 'PASSWORD_SHORT'],
  ])('with %j are refused with %s and not stored', async (wrong, code) => {
    const before = await customers.list()
    await expect(addCustomer(service, wrong)).rejects.toMatchObject({ code })
    expect(await customers.list()).toEqual(before)
  })

  it('cannot share an address, whatever its case', async () => {
    await addCustomer(service, { email: 'one@example.com' })
    await expect(addCustomer(service, { email: ' ONE@example.com' })).rejects.toMatchObject({ code: 'EMAIL_TAKEN' })
  })

  it('that do not exist cannot be changed', async () => {
    for (const who of ['nobody@example.com', 'no-id', '']) {
      const gone = { code: 'CUSTOMER_NOT_FOUND' }
      await expect(customers.show(who)).rejects.toMatchObject(gone)
      await expect(customers.disable(who)).rejects.toMatchObject(gone)
      await expect(customers.allow(who, ['a'])).rejects.toMatchObject(gone)
      await expect(customers.setPassword(who, PASSWORD)).rejects.toMatchObject(gone)
    }
  })

  it('lose every token issued until now when they are disabled or get a new password', async () => {
    const { id } = await addCustomer(service)
    const nextSecond = Math.floor(service.clock.now() / 1000) + 1
    expect(await customers.disable(id)).toMatchObject({ enabled: false, tokensValidFrom: nextSecond })
    service.clock.time += 5000
    expect((await customers.setPassword(id, PASSWORD)).customer).toMatchObject({ tokensValidFrom: nextSecond + 5 })
    expect(await customers.enable(id)).toMatchObject({ enabled: true, tokensValidFrom: nextSecond + 5 })
  })

  it('that are no operators are never read-only, and an operator stays what it is until it is said', async () => {
    const alone = { code: 'READ_ONLY_ALONE' }
    await expect(addCustomer(service, { readOnly: true })).rejects.toMatchObject(alone)
    const { id } = await addCustomer(service)
    await expect(customers.set(id, { readOnly: true })).rejects.toMatchObject(alone)
    await expect(customers.set(id, { operator: false, readOnly: true })).rejects.toMatchObject(alone)
    const steps = [
      [{ operator: true, readOnly: true }, true, true],
      [{ operator: true }, true, true],
      [{ isApi: true }, true, true],
      [{ operator: false }, false, false],
      [{ readOnly: false }, false, false],
      [{ operator: true }, true, false],
      [{ readOnly: true }, true, true],
    ] as const
    for (const [change, operator, readOnly] of steps)
      expect(await customers.set(id, change)).toMatchObject({ operator, readOnly })
    expect(await customers.remove(id, false)).toMatchObject({ operator: false, readOnly: false })
  })

  it('get and lose authority rules', async () => {
    const { id } = await addCustomer(service, { authority: ['a'] })
    expect(await customers.allow(id, ['B-*', 'a'])).toMatchObject({ authority: ['B-*', 'a'] })
    await expect(customers.disallow(id, ['a', 'none'])).rejects.toMatchObject({ code: 'AUTHORITY_RULE_MISSING' })
    expect(await customers.disallow(id, ['a'])).toMatchObject({ authority: ['B-*'] })
  })

  it('are listed in full beyond one page', async () => {
    const template = await store.customers.findById((await addCustomer(service)).id)
    const ids = Array.from({ length: 520 }, (_, index) => `many-${String(index).padStart(4, '0')}`)
    for (const id of ids) if (template) await store.customers.insert({ ...template, id, email: `${id}@example.com` })
    const listed = (await customers.list()).map(({ id }) => id).filter((id) => id.startsWith('many-'))
    expect(listed).toEqual(ids)
  })
})

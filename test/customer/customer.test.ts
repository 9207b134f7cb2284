import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { isAuthorityRule } from '#src/customer/authority.ts'
import { canonicalEmail, checkPassword, readRegion } from '#src/customer/credentials.ts'
import { anyText } from '../support/any-text.ts'
import { addCustomer, PASSWORD, testApp } from '../support/app/test-app.ts'

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

/** Those of 8 and more characters in the top 1,000 of SecLists' "10 million" list, without the obscene ones. */
const MAX_USED = `
  password 12345678 123456789 baseball football qwertyuiop 1234567890 michelle superman 1qaz2wsx trustno1 jennifer
  sunshine iloveyou starwars computer 11111111 princess 987654321 corvette 1234qwer 88888888 q1w2e3r4t5 internet
  samantha whatever maverick steelers mercedes 123123123 qwer1234 q1w2e3r4 midnight bigdaddy victoria 1q2w3e4r
  cocacola marlboro asdfasdf 87654321 12344321 jordan23 Password jonathan liverpoo danielle abcd1234 scorpion
  qazwsxedc password1 slipknot qwerty123 startrek 12341234 redskins asdfghjkl qwertyui liverpool dolphins nicholas
  elephant mountain secret123 xxxxxxxx 1q2w3e4r5t metallic benjamin creative rush2112 asdfghjk 4815162342 passw0rd
  garfield 1qazxsw2 01012011 69696969 december 11223344 godzilla airborne lifehack brooklyn platinum darkness blink182
  789456123 12qwaszx snowball pakistan redwings williams nintendo guinness november minecraft asdf1234 lasvegas
  babygirl 12121212 147258369 explorer snickers metallica alexande paradise michigan carolina lacrosse christin
  kimberly kristina 0987654321 poohbear qweasdzxc drowssap caroline einstein spitfire maryjane 1232323q champion
  svetlana westside courtney 12345qwert patricia aaaaaaaa anderson security stargate simpsons scarface 123456789a
  1234554321 cherokee veronica semperfi scotland marshall qwerty12 98765432 softball passport franklin alexander
  55555555 infinity kawasaki 77777777 vladimir freeuser wildcats budlight brittany 00000000 bulldogs swordfis PASSWORD
  patriots pearljam colorado motorola ncc1701d logitech juventus wolverin warcraft hello123 peekaboo 123654789
  panthers elizabet spiderma virginia valentin predator mitchell 741852963 1111111111 rolltide changeme lovelove
  fktrcfylh loverboy chevelle cardinal michael1 147852369 american alexandr electric wolfpack spiderman darkside
  123456789q 01011980 freepass`

/** Mostly missing in the list of the package. */
const MORE = `0123456789 9876543210 abcdefgh 22222222 44444444 99999999 p@ssword admin1234 fenerbahce galatasaray besiktas
  trabzonspor istanbul turkiye1 parola123 sifre123 sifre1234 teslim123`

describe('a password that is set', () => {
  it.each([
    ['seven77', 'PASSWORD_SHORT'],
    ['Password123', 'PASSWORD_COMMON'],
    ['fenerbahce', 'PASSWORD_COMMON'],
    ['x'.repeat(1025), 'PASSWORD_UNUSABLE'],
    ['ü'.repeat(513), 'PASSWORD_UNUSABLE'],
    ['lone \ud800 surrogate', 'PASSWORD_UNUSABLE'],
  ])('%j is refused with %s', async (password, code) => {
    await expect(checkPassword(password, 'a@b.example')).rejects.toMatchObject({ code })
  })

  it.each(['        ', 'x'.repeat(1024), '\u{1f512}'.repeat(15), ' leading and trailing '])(
    '%j is taken',
    async (password) => {
      await expect(checkPassword(password, 'a@b.example')).resolves.toBeInstanceOf(Array)
    },
  )

  it('is none of the most used ones: of a public top 1,000, of the list that is loaded, and of leaks in Turkish', async () => {
    const { dictionary } = await import('@zxcvbn-ts/language-common')
    const loaded = dictionary['passwords-common'].filter((password) => password.length >= 8)
    expect(loaded.length).toBeGreaterThan(17_000)
    const taken = []
    for (const password of [...`${MAX_USED} ${MORE}`.trim().split(/\s+/), ...loaded]) {
      const isTaken = await checkPassword(password, 'a@b.example').then(
        () => true,
        () => false,
      )
      if (isTaken) taken.push(password)
    }
    expect(taken).toEqual([])
  })

  it('is warned about under 15 characters, counted as people count them', async () => {
    expect(await checkPassword('fourteen chars', 'a@b.example')).toEqual([
      'The password has 14 characters; 15 or more are safer.',
    ])
    expect(await checkPassword('fifteen chars !', 'a@b.example')).toEqual([])
    expect(await checkPassword('\u{1f512}'.repeat(8), 'a@b.example')).toEqual([expect.stringContaining('8 characters')])
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
      name: '',
      note: '',
      disabledReason: '',
      silence: null,
      isApi: true,
      scope: 'customer',
      payloads: false,
      enabled: true,
      regions: ['DE', 'TR'],
      authority: ['a', 'b'],
      createdAt: service.clock.now(),
      hasPassword: true,
    })
    const stored = await store.customers.findById(added.id)
    const { passwordHash = '', tokenGeneration, ...rest } = stored ?? {}
    expect({ ...rest, hasPassword: true }).toEqual(added)
    expect(tokenGeneration).toMatch(/^[0-9A-Za-z]{22}$/)
    expect(passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(await customers.show('MIXED@example.COM')).toEqual(added)
    expect(await customers.show(added.id)).toEqual(added)
  })

  it.each([
    [{ email: 'nobody' }, 'EMAIL_INVALID'],
    [{ email: 'a\u202e@b.co' }, 'EMAIL_INVALID'],
    [{ email: 'a\u200b@b.co' }, 'EMAIL_INVALID'],
    [{ email: 'a\ufeff@b.co' }, 'EMAIL_INVALID'],
    [{ email: 'a\u009b@b.co' }, 'EMAIL_INVALID'],
    [{ email: 'a\u3164@b.co' }, 'EMAIL_INVALID'],
    [{ email: '\u2800@b.co' }, 'EMAIL_INVALID'],
    [{ regions: ['TUR'] }, 'REGION_INVALID'],
    [{ regions: [''] }, 'REGION_INVALID'],
    [{ authority: ['a', 'b*c'] }, 'AUTHORITY_RULE_INVALID'],
    [{ name: 'a'.repeat(101) }, 'NAME_INVALID'],
    [{ note: 'a'.repeat(1001) }, 'NOTE_INVALID'],
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

  it('get a token generation that nobody had before with each change that ends tokens, and with no other one', async () => {
    const { id } = await addCustomer(service, { scope: 'operator', regions: ['TR', 'DE'] })
    const generation = async () => (await store.customers.findById(id))?.tokenGeneration ?? ''
    const seen = [await generation()]
    const ends: [change: () => Promise<unknown>, ends: boolean][] = [
      [() => customers.disable(id), true],
      [() => customers.disable(id), true],
      [() => customers.enable(id), false],
      [() => customers.setPassword(id, PASSWORD), true],
      [() => customers.revokeTokens(id), true],
      [() => customers.revokeTokens(id), true],
      [() => customers.set(id, { regions: ['TR', 'DE', 'FR'] }), false],
      [() => customers.set(id, { regions: ['TR', 'DE'] }), true],
      [() => customers.set(id, { scope: 'operator:read' }), true],
      [() => customers.set(id, { scope: 'operator:read' }), false],
      [() => customers.set(id, { scope: 'operator:support', payloads: true }), true],
      [() => customers.set(id, { payloads: false }), true],
      [() => customers.set(id, { payloads: true }), false],
      [() => customers.set(id, { scope: 'operator:read' }), false],
      [() => customers.set(id, { scope: 'feed' }), true],
      [() => customers.set(id, { scope: 'customer' }), true],
      [() => customers.set(id, { scope: 'feed' }), true],
      [() => customers.set(id, { scope: 'operator' }), false],
      [() => customers.set(id, { scope: 'customer' }), true],
      [() => customers.set(id, { isApi: false }), true],
      [() => customers.set(id, { isApi: true }), false],
      [() => customers.allow(id, ['A']), false],
      [() => customers.remove(id, false), true],
      [() => customers.remove(id, true), true],
    ]
    for (const [number, [change, isEnd]] of ends.entries()) {
      await change()
      const now = await generation()
      expect(now, `change ${number}`).toMatch(/^[0-9A-Za-z]{22}$/)
      expect(isEnd ? seen : seen.slice(0, -1), `change ${number}`).not.toContain(now)
      if (isEnd) seen.push(now)
      else expect(now, `change ${number}`).toBe(seen.at(-1))
    }
  })

  it('lose a right for good, whatever else is changed at the same time', async () => {
    const { id } = await addCustomer(service, { scope: 'operator' })
    const change = vi.spyOn(store.customers, 'change')
    const [held, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    change.mockImplementationOnce(async (...args) => {
      held.resolve()
      await goOn.promise
      return store.customers.change(...args)
    })
    const naming = customers.set(id, { name: 'Kitap' })
    await held.promise
    await customers.set(id, { scope: 'customer' })
    goOn.resolve()
    expect(await naming).toMatchObject({ name: 'Kitap', scope: 'customer' })
    change.mockRestore()
  })

  it('lose payloads with the scope of support, and get them in no other', async () => {
    const alone = { code: 'PAYLOADS_ALONE' }
    await expect(addCustomer(service, { scope: 'operator', payloads: true })).rejects.toMatchObject(alone)
    const { id } = await addCustomer(service, { scope: 'operator:support', payloads: true })
    const steps = [
      [{ isApi: true }, 'operator:support', true],
      [{ scope: 'operator:read' }, 'operator:read', false],
      [{ scope: 'operator:support' }, 'operator:support', false],
      [{ payloads: true }, 'operator:support', true],
      [{ scope: 'feed' }, 'feed', false],
    ] as const
    for (const [change, scope, payloads] of steps)
      expect(await customers.set(id, change)).toMatchObject({ scope, payloads })
    await expect(customers.set(id, { payloads: true })).rejects.toMatchObject(alone)
    expect(await customers.remove(id, false)).toMatchObject({ scope: 'customer', payloads: false })
  })

  it.each([
    ['  Kitap A.\u015e. ', 'Kitap A.\u015e.'],
    ['\u{1f4da} B\u00fcy\u00fck', '\u{1f4da} B\u00fcy\u00fck'],
    ['a'.repeat(100), 'a'.repeat(100)],
    [' \u00a0 ', ''],
    ['a'.repeat(101), undefined],
    ['two\nlines', undefined],
    ['a\u0000', undefined],
    ['a\u200bb', undefined],
    ['\u202eb', undefined],
    ['\u2800\u2800', undefined],
    ['\ud800', undefined],
  ])('the name %j is stored as %j', async (written, stored) => {
    const { id } = await addCustomer(service, { name: 'before' })
    if (stored === undefined) await expect(customers.set(id, { name: written })).rejects.toThrow('A name is at most')
    else expect(await customers.set(id, { name: written })).toMatchObject({ name: stored })
    expect((await customers.show(id)).name).toBe(stored ?? 'before')
  })

  it.each([
    ['\none\r\ntwo\n\nthree ', 'one\ntwo\n\nthree'],
    ['a\u200db', 'a\u200db'],
    ['a'.repeat(1000), 'a'.repeat(1000)],
    ['a'.repeat(1001), undefined],
    ['a\tb', undefined],
    ['a\rb', undefined],
    ['a\u009bb', undefined],
    ['\udfff', undefined],
  ])('the note %j is stored as %j', async (written, stored) => {
    const { id } = await addCustomer(service, { note: 'before' })
    if (stored === undefined) await expect(customers.set(id, { note: written })).rejects.toThrow('A note is at most')
    else expect(await customers.set(id, { note: written })).toMatchObject({ note: stored })
    expect((await customers.show(id)).note).toBe(stored ?? 'before')
  })

  it('are disabled for a reason, which stays until another one is given or they are enabled', async () => {
    const { id } = await addCustomer(service)
    for (const wrong of ['a'.repeat(501), 'two\nlines', '\ud800'])
      await expect(customers.disable(id, wrong)).rejects.toMatchObject({ code: 'REASON_INVALID' })
    expect(await customers.show(id)).toMatchObject({ enabled: true, disabledReason: '' })
    for (const [reason, kept] of [
      [' sends what it must not ', 'sends what it must not'],
      [undefined, 'sends what it must not'],
      ['a'.repeat(500), 'a'.repeat(500)],
      ['', ''],
    ])
      expect(await customers.disable(id, reason)).toMatchObject({ enabled: false, disabledReason: kept })
    await customers.disable(id, 'asked')
    expect(await customers.enable(id)).toMatchObject({ enabled: true, disabledReason: '' })
  })

  it('are found by a part of name, note or address; A to Z in either case, other letters as they are', async () => {
    const { id } = await addCustomer(service, { name: 'Çiçek IŞIK Ltd.', note: 'Vergi no.\n1234567890' })
    const found = async (text: string) => (await customers.list(text)).map((one) => one.id).includes(id)
    for (const text of ['çIÇEK', 'iŞIk', 'ltd', 'VERGI NO.\n12', id.slice(0, 20), '@EXAMPLE.com', ''])
      expect([text, await found(text)]).toEqual([text, text !== 'çIÇEK'])
    for (const text of ['çiçek', 'ışık', 'işik', 'nobody']) expect([text, await found(text)]).toEqual([text, false])
  })

  it('lose name, note and reason when they are removed', async () => {
    const { id } = await addCustomer(service, { name: 'Kitap A.Ş.', note: 'calls back' })
    await customers.disable(id, 'asked')
    expect(await customers.remove(id, false)).toMatchObject({ name: '', note: '', disabledReason: '' })
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

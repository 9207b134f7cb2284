import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkPassword, generatePassword } from '#src/customer/credentials.ts'
import { systemRandom } from '#src/lib/random.ts'
import { operating } from '../support/app/operating.ts'
import { addCustomer, testApp } from '../support/app/test-app.ts'

const EMAIL = 'ahmet.yilmaz@kitapci.com.tr'
const COMMON = { code: 'PASSWORD_COMMON', text: { code: 'PASSWORD_COMMON' } }
const GUESSABLE = { code: 'PASSWORD_COMMON', text: { code: 'PASSWORD_GUESSABLE' } }

describe('a password that others guess', () => {
  it.each([
    'Password1!',
    'password ',
    'PASSWORD2026',
    'sifre12345',
    'Sifre123!',
    'Şifre123!',
    'ŞİFRE 1234',
    'istanbul34',
    'İstanbul34',
    'ISTANBUL34',
    'galatasaray1905',
    'fenerbahce1907!',
    'Fenerbahçe1907',
    'beşiktaş1903',
    'merhaba123',
    '12345678!',
    'aaaaaaaa1',
    'qwerty123!!',
    'p@ssword.',
  ])('%j is refused: it is a common one with digits and signs at its end', async (password) => {
    await expect(checkPassword(password, 'a@b.example')).rejects.toMatchObject(COMMON)
  })

  it.each([
    EMAIL,
    'AHMET.YILMAZ@KITAPCI.COM.TR',
    `${EMAIL}2026!`,
    `${EMAIL}${EMAIL}${EMAIL}`,
    'kitapci123',
    'KİTAPCI123',
    '2026kitapçı!',
    'Yilmaz-x7q2',
    'ahmetahmet',
    'my.kitapci.pass',
    'teslim2026',
    'Teslim!istanbul',
  ])('%j is refused: it has the address, a part of it or the name of the product', async (password) => {
    await expect(checkPassword(password, EMAIL)).rejects.toMatchObject(GUESSABLE)
  })

  it.each([
    ['orada bir ali var uzakta', 'ali@veli.com.tr'],
    ['correct horse shop battery staple', 'info@shop.example'],
    ['x7comtr9', 'ali@veli.com.tr'],
    ['dragon9172645301826354', 'a@b.example'],
    ['9Kdragon2!vQ', 'a@b.example'],
    ['istanbul34!vapur', 'a@b.example'],
    ['        ', 'a@b.example'],
    ['\u{1f512}'.repeat(8), 'a@b.example'],
  ])('%j of %s is taken', async (password, email) => {
    await expect(checkPassword(password, email)).resolves.toBeInstanceOf(Array)
  })

  it('is never one that was generated, and whatever is typed is either taken or refused by a rule', async () => {
    for (let times = 0; times < 200; times++)
      expect(await checkPassword(`Shop${generatePassword(systemRandom).slice(4)}`, 'office@shop.example')).toEqual([])
    const any = fc.string({ unit: 'binary', maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(any, any, any, async (password, local, domain) => {
        const outcome = await checkPassword(password, `${local}@${domain}`).catch(({ code }) => code)
        expect(Array.isArray(outcome) || /^PASSWORD_/.test(outcome)).toBe(true)
      }),
    )
  })
})

it('the rules hold for each way to set a password, and not for a login with one from before', async () => {
  const service = await testApp()
  const { customers, store } = service
  const { post } = await operating(service)
  const answer = await post('/Operator/customers', { Email: EMAIL, IsAPI: true, Password: 'Kitapci2026' })
  expect([answer.statusCode, answer.json()]).toMatchObject([
    400,
    { errorCode: 'PASSWORD_COMMON', message: expect.stringContaining('a part of it') },
  ])
  expect(await store.customers.findByEmail(EMAIL)).toBeUndefined()
  await expect(addCustomer(service, { email: EMAIL, password: 'Kitapci2026' })).rejects.toMatchObject(GUESSABLE)
  const { id } = await addCustomer(service, { email: EMAIL })
  await expect(customers.setPassword(id, 'Kitapci2026')).rejects.toMatchObject(GUESSABLE)
  await expect(customers.setPassword(EMAIL, 'Istanbul34!')).rejects.toMatchObject(COMMON)
  await store.customers.setPassword(id, await service.app.hashing.hash('Kitapci2026'), 'another generation')
  const login = await service.login({ Email: EMAIL, Password: 'Kitapci2026' })
  expect(login.statusCode).toBe(200)
})

import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, it } from 'vitest'
import type { NewCustomer } from '#src/customer/customer.rule.ts'
import { failure } from '../support/app/failure.ts'
import { operating } from '../support/app/operating.ts'
import { addSupplier } from '../support/app/supplier.ts'
import { addCustomer, testApp } from '../support/app/test-app.ts'
import { storesOfRun } from '../support/store/stores.ts'

const MINUTE = 60_000
const DAY = 86_400_000
const NOBODY = '01a1fd40-0c1e-7b52-9a0f-3f5d2c1b7e64'
const iso = (milliseconds: number) => new Date(milliseconds).toISOString()
const ok = (data: unknown) => ({ data, success: true, message: 'OK' })

describe.each(storesOfRun())('operators see customers on %s', async (_name, emptyStore) => {
  const service = await testApp({ ...(await emptyStore()), NODE_ENV: 'production' })
  const { app, clock, customers } = service
  const { get, operator } = await operating(service, { scope: 'operator:read' })
  const idsOf = (answer: Awaited<ReturnType<typeof get>>): string[] =>
    answer.json().data.Customers.map(({ CustomerID }: { CustomerID: string }) => CustomerID)
  /** Ids of one millisecond are in no order. */
  beforeEach(() => {
    clock.time++
  })

  it('with keys, last use and what to look after', async () => {
    const { customer, apiKeys, keyId, key } = await addSupplier(service, { authority: ['b', 'A-*'] }, 13 * DAY)
    clock.time++
    const other = await apiKeys.issue(customer.id, 'other', undefined, { networks: ['127.0.0.0/8'], rateLimit: 5 })
    await app.inject({
      method: 'POST',
      url: '/Purchase/update',
      headers: { ApiKey: key },
      payload: '{"Status":1,"ProductID":"b"}',
    })
    await app.keyUses.flush()
    const shown = {
      CustomerID: customer.id,
      Email: customer.email,
      Name: '',
      Note: '',
      IsAPI: true,
      Scope: 'customer',
      SeesPayloads: true,
      IsOperator: false,
      IsReadOnly: false,
      IsEnabled: true,
      DisabledReason: '',
      IsRemoved: false,
      Regions: ['TR'],
      AuthorityRules: ['A-*', 'b'],
      CreatedAt: iso(customer.createdAt),
      Keys: { Live: 2, ExpiringSoon: 1 },
      LastUsedAt: iso(clock.now()),
      SilenceSeconds: null,
      SilentSince: null,
      Warnings: ['KEY_EXPIRES_SOON'],
    }
    const usual = { CustomerID: customer.id, SuccessorID: null, State: 'live', ExpiresSoon: false }
    expect((await get(`/Operator/customers?ids=${customer.id}`)).json()).toEqual(
      ok({ Customers: [shown], NextCursor: null }),
    )
    const answer = await get(`/Operator/customer/${customer.id.toUpperCase()}`)
    expect(answer.json()).toEqual(
      ok({
        Customer: shown,
        Keys: [
          {
            ...usual,
            KeyID: keyId,
            Label: 'test',
            CreatedAt: iso(customer.createdAt),
            ExpiresAt: iso(customer.createdAt + 13 * DAY),
            LastUse: { UsedAt: iso(clock.now()), Address: '127.0.0.1' },
            Networks: null,
            RateLimit: null,
            ExpiresSoon: true,
          },
          {
            ...usual,
            KeyID: other.view.id,
            Label: 'other',
            CreatedAt: iso(clock.now()),
            ExpiresAt: null,
            LastUse: null,
            Networks: ['127.0.0.0/8'],
            RateLimit: 5,
          },
        ],
      }),
    )
    expect(answer.headers['cache-control']).toBe('no-store, no-transform')
    expect(answer.payload).not.toContain('tsl_')
    expect(answer.payload).not.toContain('argon2')
  })

  it('warns of customers that need somebody to look after them, unless they are disabled', async () => {
    const warningsOf = async (id: string): Promise<string[]> =>
      (await get(`/Operator/customer/${id}`)).json().data.Customer.Warnings
    const bare = await addCustomer(service, { regions: [] })
    expect(await warningsOf(bare.id)).toEqual(['NO_RULES', 'NO_KEY', 'NO_REGION'])
    await customers.disable(bare.id)
    expect(await warningsOf(bare.id)).toEqual([])
    expect(await warningsOf(operator.id)).toEqual([])
    const delivering = await addCustomer(service, { scope: 'operator', authority: ['*'] })
    expect(await warningsOf(delivering.id)).toEqual(['NO_KEY'])

    const { customer, apiKeys } = await addSupplier(service, {}, MINUTE)
    clock.time += 2 * MINUTE
    expect(await warningsOf(customer.id)).toEqual(['NO_KEY', 'KEY_EXPIRED_NOT_REPLACED'])
    await apiKeys.issue(customer.id, 'test')
    expect(await warningsOf(customer.id)).toEqual([])

    const sandbox = await addSupplier(service, { email: 'sandbox@example.com' })
    expect(await warningsOf(sandbox.customer.id)).toEqual(['SANDBOX'])
    await customers.remove(sandbox.customer.id, false)
    const removed = (await get(`/Operator/customer/${sandbox.customer.id}`)).json().data.Customer
    expect(removed).toMatchObject({ Warnings: [], IsRemoved: true, IsEnabled: false, AuthorityRules: [] })
    expect(removed.Email).toBe(`removed:${sandbox.customer.id}`)
  })

  it('finds them by a part of name, note or e-mail, the beginning of the id, role and state', async () => {
    const kinds: (Partial<NewCustomer> & { email: string })[] = [
      { email: 'One.100%@Find.example', name: 'Çiçek Ltd.', note: 'Vergi no. 42' },
      { email: 'two_100%@find.example', scope: 'operator' },
      { email: 'three@find.example', scope: 'operator:read', isApi: false },
      { email: 'four@find.example', isApi: false },
    ]
    const ids: string[] = []
    for (const kind of kinds) {
      clock.time++
      ids.push((await addCustomer(service, kind)).id)
    }
    await customers.disable(ids[3] ?? '')
    const [one, two, three, four] = ids
    const find = async (query: string) => idsOf(await get(`/Operator/customers?${query}`))
    expect(await find('search=@FIND.example')).toEqual(ids)
    expect(await find('search=100%25')).toEqual([one, two])
    expect(await find('search=two_')).toEqual([two])
    for (const part of ['Çiçek LTD', 'vergi NO. 42'])
      expect(await find(`search=${encodeURIComponent(part)}`)).toEqual([one])
    expect(await find(`search=${encodeURIComponent('çiçek')}`)).toEqual([])
    expect(await find(`search=${four?.toUpperCase()}`)).toEqual([four])
    expect(await find(`search=${four?.slice(0, 30)}`)).toEqual([four])
    expect(await find('search=@find.example&role=api')).toEqual([one, two])
    expect(await find('search=@find.example&role=operator')).toEqual([two, three])
    expect(await find('search=@find.example&role=readOnly')).toEqual([three])
    expect(await find('search=@find.example&role=supplier')).toEqual([four])
    expect(await find('search=@find.example&enabled=false')).toEqual([four])
    expect(await find('search=@find.example&enabled=true')).toEqual([one, two, three])
    expect(await find(`search=${encodeURIComponent("' OR 1=1 --")}`)).toEqual([])
    expect(await find('search=%00')).toEqual([])
    expect(await find(`ids=${three},${NOBODY}, ${one?.toUpperCase()},%00,${three},x`)).toEqual([one, three])
    await customers.remove(four ?? '', false)
    expect(await find('role=removed')).toContain(four)
    expect(await find('search=@find.example&role=supplier')).toEqual([])
  })

  it.each([
    ['ids with a search', `ids=${NOBODY}&search=x`, 'query/search'],
    ['ids with a state', `ids=${NOBODY}&enabled=true`, 'query/enabled'],
    ['101 ids', `ids=${Array(101).fill(NOBODY).join()}`, 'query/ids'],
  ])('refuses %s', async (_what, query, path) => {
    const answer = await get(`/Operator/customers?${query}`)
    expect(answer.statusCode).toBe(400)
    expect(answer.json()).toEqual(
      failure('INVALID_REQUEST', {
        errors: [expect.objectContaining({ path, message: expect.stringMatching(/^(must|is|cannot) /) })],
      }),
    )
  })

  it('answers 100 ids at once', async () => {
    const answer = await get(`/Operator/customers?ids=${Array(100).fill(operator.id).join()}`)
    expect(idsOf(answer)).toEqual([operator.id])
  })

  it.each(['x', NOBODY, '%00', 'shop@example.com', `${NOBODY}0`, '%F0%9F%98%80'])(
    'knows no customer %s',
    async (id) => {
      const answer = await get(`/Operator/customer/${id}`)
      expect(answer.statusCode).toBe(404)
      expect(answer.json()).toEqual(failure('CUSTOMER_NOT_FOUND'))
    },
  )

  it('reads all keys of a customer with many', async () => {
    const { customer, apiKeys } = await addSupplier(service)
    for (let i = 0; i < 501; i++) await apiKeys.issue(customer.id, `${i}`)
    const { Customer, Keys } = (await get(`/Operator/customer/${customer.id}`)).json().data
    expect(Keys).toHaveLength(502)
    expect(Customer.Keys.Live).toBe(502)
  })

  it('is never compressed', async () => {
    for (let number = 0; number < 4; number++) await addCustomer(service)
    const answer = await get('/Operator/customers', { 'accept-encoding': 'gzip' })
    expect(answer.rawPayload.length).toBeGreaterThan(1024)
    expect(answer.headers).not.toHaveProperty('content-encoding')
  })
})

it('one search looks at more customers than one query may, and its pages miss none', async () => {
  const service = await testApp()
  const { get } = await operating(service)
  const raw = new DatabaseSync(service.config.databaseUrl.slice('sqlite:'.length))
  raw.exec(`
    INSERT INTO customer (id, email, password_hash, is_api, scope, enabled, token_generation, created_at)
    WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 100100)
    SELECT printf('ffffffff-0000-4000-8000-%012x', n), 'customer-' || n || '@many.example', '', 1, 'customer', 1, '', 0 FROM r`)
  raw.close()
  const find = async (query: string) => (await get(`/Operator/customers?${query}`)).json().data
  const { Customers, NextCursor } = await find('search=-99998@')
  expect(Customers.map(({ Email }: { Email: string }) => Email)).toEqual(['customer-99998@many.example'])
  expect(NextCursor).not.toBeNull()
  expect(await find(`search=-99998@&cursor=${NextCursor}`)).toEqual({ Customers: [], NextCursor: null })
  const beyond = await find('search=-100099@')
  expect(beyond.Customers).toEqual([])
  expect((await find(`search=-100099@&cursor=${beyond.NextCursor}`)).Customers).toHaveLength(1)
  const seen: string[] = []
  for (let cursor = ''; cursor !== null; ) {
    const page = await find(`search=77@many&limit=100&cursor=${cursor}`)
    seen.push(...page.Customers.map(({ Email }: { Email: string }) => Email))
    cursor = page.NextCursor
  }
  const expected = Array.from(
    { length: 1001 },
    (_, hundred) => `customer-${hundred === 0 ? '' : hundred}77@many.example`,
  )
  expect(seen).toEqual(expected)
})

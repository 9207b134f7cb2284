import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { newId, systemRandom } from '#src/lib/random.ts'
import { anyText } from '../support/any-text.ts'
import { failure } from '../support/app/failure.ts'
import { readingSupplier } from '../support/app/supplier.ts'
import { testApp } from '../support/app/test-app.ts'
import { storesOfRun } from '../support/store/stores.ts'

interface Match {
  readonly Kind: string
  readonly ID: string
  readonly CustomerID: string | null
  readonly Text: string
  readonly RefusedOnly?: boolean
}

const byText = (matches: readonly Match[]): string[] =>
  matches.map((match) => JSON.stringify(match)).toSorted((one, other) => (one < other ? -1 : 1))

describe.each(storesOfRun())('POST /Operator/find on %s', async (_name, emptyStore) => {
  const start = async () => {
    const service = await testApp({ TESLIM_TOKEN_TTL: '31536000', ...(await emptyStore()) })
    const operator = await readingSupplier(service, { scope: 'operator:read', authority: [] })
    const asked = (token: string | undefined, payload: object) => {
      const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
      return service.app.inject({ method: 'POST', url: '/Operator/find', headers, payload })
    }
    const find = async (text: string): Promise<Match[]> => {
      const answer = await asked(operator.token, { Text: text })
      expect(answer.statusCode, answer.payload).toBe(200)
      const found: (Match & { readonly Customer?: string })[] = answer.json().data.Matches
      return found.map(({ Customer, ...match }) => {
        expect(Customer === undefined).toBe(match.CustomerID === null)
        return match
      })
    }
    return { service, operator, asked, find }
  }
  // The model knows what is added here: tests that add more have a service of their own.
  const { service, operator, asked, find } = await start()
  const { app, clock, store } = service
  const reader = await readingSupplier(service)

  const orders = ['PO-1', 'po-1', '%', '_', 'a b', 'ö', 'abcd', "'--"]
  const all: Match[] = []
  const requests: string[] = []
  for (let who = 0; who < 3; who++) {
    clock.time += 60_000
    const email = `Shop-${who}.ö_%x@example.com`
    const words = who === 1 ? {} : { name: `Kitap A.\u015e. ${who}`, note: `Vergi no. 12${who}` }
    const one = await readingSupplier(service, { email, ...words })
    const CustomerID = one.customer.id
    for (const order of orders.slice(who)) {
      clock.time += 1000
      const { ReceiptID } = await one.deliver({ OrderID: order, Status: 1 })
      all.push({ Kind: 'delivery', ID: ReceiptID, CustomerID, Text: order })
      all.push({ Kind: 'order', ID: order, CustomerID, Text: order })
    }
    const headers = { ApiKey: 'tsl_unknown', 'x-request-id': `request ${who}`.replace(' ', '%') }
    const { requestId } = (await app.inject({ method: 'POST', url: '/Purchase/update', headers })).json()
    await app.flushRefusals()
    requests.push(requestId)
    all.push({ Kind: 'request', ID: requestId, CustomerID: null, Text: 'API_KEY_INVALID' })
    const [event] = await store.audit.list({ requestId, limit: 1 })
    all.push({ Kind: 'refusal', ID: event?.refusalId ?? '', CustomerID: null, Text: 'API_KEY_INVALID' })
  }
  const wordsOf = new Map<string, string[]>()
  for (const { id, email, name, note } of await store.customers.list({ limit: 100 })) {
    all.push({ Kind: 'customer', ID: id, CustomerID: id, Text: name === '' ? email : `${name} <${email}>` })
    wordsOf.set(id, [email, name, note])
  }
  for (const { id, customerId, label } of await store.apiKeys.list())
    all.push({ Kind: 'key', ID: id, CustomerID: customerId, Text: label })

  /** What a plain look at everything finds. */
  const expected = (typed: string): Match[] => {
    const text = typed.trim()
    const inLowerCase = (words: string) => words.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
    const lower = inLowerCase(text)
    if (text === '') return []
    return all.filter(({ Kind, ID, Text }) => {
      if (Kind === 'order') return ID === text || (text.length >= 4 && ID.startsWith(text))
      if (Kind === 'request') return ID === text
      const same = all.filter((each) => each.Kind === Kind && each.ID.startsWith(lower)).length
      if (ID.startsWith(lower) && lower.length >= 4 && same === 1) return true
      if (Kind === 'key') return inLowerCase(Text).includes(lower)
      return Kind === 'customer' && wordsOf.get(ID)?.some((words) => inLowerCase(words).includes(lower))
    })
  }

  it('agrees with a plain model, whatever is typed', async () => {
    const ids = all.map(({ ID }) => ID)
    const words = [...wordsOf.values()].flat().filter((text) => text !== '')
    const part = (texts: readonly string[]) =>
      fc
        .tuple(fc.constantFrom(...texts), fc.nat(40), fc.nat(40))
        .map(([text, from, length]) => text.slice(from % text.length, (from % text.length) + length + 1))
    const beginning = fc
      .tuple(fc.constantFrom(...ids), fc.integer({ min: 3, max: 36 }))
      .map(([id, length]) => id.slice(0, length))
    const typed = fc
      .tuple(
        fc.oneof(
          fc.constantFrom(...ids),
          beginning,
          part(words),
          part(ids),
          fc.constantFrom('%', '_', '\0', '\ud800', 'SHOP', "' OR 1=1 --"),
          anyText(0, 20),
        ),
        fc.constantFrom('', ' ', '\t', '\u00a0'),
        fc.boolean(),
      )
      .map(([text, space, upper]) => `${space}${upper ? text.toUpperCase() : text}${space}`)
    await fc.assert(
      fc.asyncProperty(typed, async (text) => {
        if (!text.isWellFormed() || text.replaceAll(' ', '') === '') return
        expect(byText(await find(text)), JSON.stringify(text)).toEqual(byText(expected(text)))
      }),
      { numRuns: 150 },
    )
  })

  it('finds what a request delivered by the id that the service gave it', async () => {
    const { service, find } = await start()
    const { clock } = service
    const one = await readingSupplier(service)
    const requestId = newId(clock.time, systemRandom)
    const { ReceiptID } = await one.deliver({ OrderID: 'PO-R', Status: 2 }, { 'x-request-id': requestId })
    await one.deliver({ OrderID: 'PO-R', Status: 3 })
    const found = [{ Kind: 'delivery', ID: ReceiptID, CustomerID: one.customer.id, Text: 'PO-R' }]
    expect(await find(requestId)).toEqual(found)
    expect(await find(` ${requestId.toUpperCase()}`)).toEqual(found)
  })

  it('finds an order of which every delivery was refused, and says so', async () => {
    const { service, find } = await start()
    const refuse = async (OrderID: string, authority: string[] = []) => {
      const supplier = await readingSupplier(service, { authority })
      await supplier.deliver({ OrderID, Status: 1, ProductID: 'SKU-1' }).catch(() => undefined)
      return supplier.customer.id
    }
    const [refused, other, accepted] = [await refuse('PO-404'), await refuse('PO-404'), await refuse('PO-404', ['*'])]
    await service.app.flushRefusals()
    const found = (await find('PO-404')).filter(({ Kind }) => Kind === 'order')
    const order = (CustomerID: string) => ({ Kind: 'order', ID: 'PO-404', CustomerID, Text: 'PO-404' })
    expect(byText(found)).toEqual(
      byText([order(accepted), { ...order(refused), RefusedOnly: true }, { ...order(other), RefusedOnly: true }]),
    )
    expect(await find('po-404')).toEqual([])
  })

  it('finds at most 20 matches', async () => {
    const { service, find } = await start()
    for (let n = 0; n < 25; n++)
      await service.customers.add({
        email: `many-${n}@example.com`,
        password: 'correct horse battery staple',
        isApi: false,
        scope: 'customer',
        regions: [],
        authority: [],
      })
    expect(await find('MANY-')).toHaveLength(20)
  })

  it.each(['', '\0', '\ud800', ' ', '\ufffd', '\u{1f600}'])('finds nothing for %j', async (text) => {
    expect(await find(text)).toEqual([])
  })

  it('finds orders by the beginning of their ids, in the case as sent, and first those with that id', async () => {
    const { service, find } = await start()
    const [one, two] = [await readingSupplier(service), await readingSupplier(service)]
    for (const OrderID of ['ORD-10', 'ORD-1', 'ord-1', 'ORD', 'ORD-\u{1f600}', 'ORE-1'])
      await one.deliver({ OrderID, Status: 1 })
    await two.deliver({ OrderID: 'ORD-1', Status: 1 })
    const orders = async (text: string) =>
      (await find(text)).filter(({ Kind }) => Kind === 'order').map(({ ID, CustomerID }) => [ID, CustomerID])
    const [first, second] = [one.customer.id, two.customer.id]
    expect(await orders('ORD-')).toEqual([
      ['ORD-1', first],
      ['ORD-10', first],
      ['ORD-\u{1f600}', first],
      ['ORD-1', second],
    ])
    expect(await orders('ORD-1')).toEqual([
      ['ORD-1', first],
      ['ORD-1', second],
      ['ORD-10', first],
    ])
    expect(await orders('ord-')).toEqual([['ord-1', first]])
    expect(await orders('OR')).toEqual([])
    expect(await orders('____')).toEqual([])
  })

  it('finds orders with an id behind many that begin with it, and looks once at each customer', async () => {
    const { service, find } = await start()
    const [one, two, three] = [
      await readingSupplier(service),
      await readingSupplier(service),
      await readingSupplier(service),
    ]
    const beginnings = Array.from({ length: 25 }, (_, n) => `LONG-${n + 10}`)
    for (const OrderID of beginnings) await one.deliver({ OrderID, Status: 1 })
    for (const each of [two, three]) await each.deliver({ OrderID: 'LONG', Status: 1 })
    const orders = async (text: string) => (await find(text)).filter(({ Kind }) => Kind === 'order').map(({ ID }) => ID)
    expect(await orders('LONG')).toEqual(['LONG', 'LONG', ...beginnings.slice(0, 10)])
    const walk = vi.spyOn(service.store.deliveries, 'orders')
    expect(await orders('LONG-10')).toEqual(['LONG-10'])
    expect(walk).toHaveBeenCalledTimes(1)
  })

  it('finds a key by a part of its label', async () => {
    const { service, find } = await start()
    const one = await readingSupplier(service)
    const { view } = await one.apiKeys.issue(one.customer.id, 'Warehouse 7 Ş')
    const match = { Kind: 'key', ID: view.id, CustomerID: one.customer.id, Text: 'Warehouse 7 Ş' }
    for (const text of ['warehouse', 'HOUSE 7', 'Ş']) expect(await find(text)).toEqual([match])
    expect(await find('ş')).toEqual([])
    expect(await find('warehouse%')).toEqual([])
  })

  it.each(['tsl_abc', ' ApiKey: tsl_1', 'whsec_x', 'Bearer eyJhbGciOi', 'eyJ'])(
    'refuses %j, and says why',
    async (Text) => {
      const answer = await asked(operator.token, { Text })
      const message = expect.stringContaining('search for the label of the key')
      expect([answer.statusCode, answer.json()]).toMatchObject([400, { errors: [{ path: '/Text', message }] }])
      expect(answer.payload).not.toContain(Text)
      expect(service.log.filter((line) => JSON.stringify(line).includes(Text))).toEqual([])
    },
  )

  it('refuses a text that is missing or too long, and fields that nobody knows', async () => {
    for (const body of [{}, { Text: 1 }, { Text: 'a'.repeat(201) }, { Text: 'a', More: 'b' }]) {
      const answer = await asked(operator.token, body)
      expect([body, answer.statusCode, answer.json().errorCode]).toEqual([body, 400, 'INVALID_REQUEST'])
    }
    expect(await find('a'.repeat(200))).toEqual([])
  })

  it('is for operators only, and takes no text in the address', async () => {
    const answer = await asked(reader.token, { Text: 'PO-1' })
    expect([answer.statusCode, answer.json()]).toEqual([403, failure('OPERATOR_REQUIRED')])
    expect((await asked(undefined, { Text: 'PO-1' })).json()).toEqual(failure('TOKEN_MISSING'))
    expect((await operator.get('/Operator/find?text=PO-1')).statusCode).toBe(405)
  })
})

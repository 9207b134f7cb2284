import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { newId, systemRandom } from '#src/lib/random.ts'
import { anyText } from '../support/any-text.ts'
import { failure } from '../support/failure.ts'
import { storesOfRun } from '../support/stores.ts'
import { readingSupplier } from '../support/supplier.ts'
import { testApp } from '../support/test-app.ts'

interface Match {
  readonly Kind: string
  readonly ID: string
  readonly CustomerID: string | null
  readonly Text: string
  readonly RefusedOnly?: boolean
}

const byText = (matches: readonly Match[]): string[] =>
  matches.map((match) => JSON.stringify(match)).toSorted((one, other) => (one < other ? -1 : 1))

describe.each(storesOfRun())('GET /Operator/find on %s', async (_name, emptyStore) => {
  const start = async () => {
    const service = await testApp({ TESLIM_TOKEN_TTL: '31536000', ...(await emptyStore()) })
    const operator = await readingSupplier(service, { scope: 'operator:read', authority: [] })
    const find = async (text: string): Promise<Match[]> => {
      const answer = await operator.get(`/Operator/find?text=${encodeURIComponent(text)}`)
      expect(answer.statusCode, answer.payload).toBe(200)
      return answer.json().data.Matches
    }
    return { service, operator, find }
  }
  // The model knows what is added here: tests that add more have a service of their own.
  const { service, operator, find } = await start()
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
    return all.filter(({ Kind, ID }) => {
      if (Kind === 'order' || Kind === 'request') return ID === text
      const same = all.filter((each) => each.Kind === Kind && each.ID.startsWith(lower)).length
      if (ID.startsWith(lower) && lower.length >= 4 && same === 1) return true
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

  it('finds an order of every customer', async () => {
    expect((await find('PO-1')).map(({ Kind }) => Kind)).toEqual(['order'])
    expect((await find('a b')).map(({ Kind }) => Kind)).toEqual(['order', 'order', 'order'])
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

  it.each(['%00', '%ED%A0%80', '%20', '%EF%BF%BD', '%F0%9F%98%80'])('finds nothing for %s', async (text) => {
    const answer = await operator.get(`/Operator/find?text=${text}`)
    expect([answer.statusCode, answer.json().data]).toEqual([200, { Matches: [] }])
  })

  it('refuses a text that is missing, empty, sent twice or too long', async () => {
    for (const query of ['', '?text=', '?text=a&text=b', `?text=${'a'.repeat(201)}`, '?text=a&more=b']) {
      const answer = await operator.get(`/Operator/find${query}`)
      expect([query, answer.statusCode, answer.json().errorCode]).toEqual([query, 400, 'INVALID_REQUEST'])
    }
    expect(await find('a'.repeat(200))).toEqual([])
  })

  it('is for operators only', async () => {
    const answer = await reader.get('/Operator/find?text=PO-1')
    expect([answer.statusCode, answer.json()]).toEqual([403, failure('OPERATOR_REQUIRED')])
    expect((await app.inject('/Operator/find?text=PO-1')).json()).toEqual(failure('TOKEN_MISSING'))
  })
})

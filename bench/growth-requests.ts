import { BIG_EMAIL, START, type Supplier } from './fill-store.ts'
import { createGet } from './get.ts'
import { BIG, MILLISECONDS, OLD, PURGED, SMALL, USUAL } from './growth-filling.ts'

export interface Readers {
  readonly suppliers: readonly Supplier[]
  /** Of the big customer. */
  readonly password: string
  readonly logInOperator: (url: string) => Promise<string>
}

/** What is read of a store with so many deliveries, by name. */
export async function growthRequests(url: string, size: number, { suppliers, password, logInOperator }: Readers) {
  const send = createGet(url)
  const login = JSON.stringify({ Email: BIG_EMAIL, Password: password })
  const logIn = () => send<{ data: { Token: string } }>('/Login/Customer/Api/Verify', {}, login)
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  const customer = bearer((await logIn()).data.Token)
  const operator = bearer(await logInOperator(url))
  const byKey = (number: number) => ({ ApiKey: suppliers[number - 1]?.key ?? '' })
  const supplierId = (number: number): string => suppliers[number - 1]?.id ?? ''

  type Headers = Record<string, string>
  const get = (path: () => string, headers: Headers) => () => send(path(), headers)
  const first = (path: string, headers: Headers) => get(() => path, headers)
  /** Each request goes on where the one before ended. */
  const walking = (path: string, headers: Headers, cursorName = 'cursor') => {
    let cursor: string | null = null
    return async () => {
      const answer: { data: { NextCursor: string | null } } = await send(
        cursor === null ? path : `${path}&${cursorName}=${cursor}`,
        headers,
      )
      cursor = answer.data.NextCursor
    }
  }
  const find = (text: () => string) => () => send('/Operator/find', operator, JSON.stringify({ Text: text() }))
  /** Of a delivery that no purge has removed. */
  const any = (): number => PURGED + Math.ceil(Math.random() * (size - PURGED))
  /** Of the big customer. */
  const order = (): string => `PO-${2 * Math.floor((any() - 1) / 20)}`
  const receipt = (): string => {
    const number = any()
    const time = (START + number * MILLISECONDS).toString(16).padStart(12, '0')
    return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${number.toString(16).padStart(12, '0')}`
  }
  const time = (number: number): string => new Date(START + number * MILLISECONDS).toISOString()
  const hour = `from=${time(size / 2)}&to=${time(size / 2 + 36_000)}`
  const deliveries = '/Supplier/deliveries'

  return {
    'nothing (/livez)': first('/livez', {}),
    login: logIn,
    'list, first page': first('/Purchase/list', customer),
    'list, page after page': walking('/Purchase/list?limit=50', customer),
    'list, newest first': walking('/Purchase/list?order=newest', customer),
    'list, all customers': walking('/Purchase/list?limit=50', operator),
    'list, of a status that none has': walking('/Purchase/list?status=0', operator),
    'list, one order of any customer': get(() => `/Purchase/list?orderId=${order()}`, operator),
    detail: get(() => `/Purchase/detail/${order()}`, customer),
    'detail, 100 of 10,000': walking('/Purchase/detail/long?limit=100', customer),
    'a delivery': get(() => `/Purchase/delivery/${receipt()}`, operator),
    'feed, from the first on': walking('/Purchase/feed?limit=100', operator, 'after'),
    'feed of one customer': first(`/Purchase/feed?customer=${supplierId(USUAL)}`, operator),
    'deliveries of all': walking('/Purchase/deliveries?limit=50', operator),
    'deliveries of an hour': walking(`/Purchase/deliveries?${hour}`, operator),
    'deliveries of a key': walking(`/Purchase/deliveries?key=${suppliers[BIG - 1]?.keyId}`, operator),
    'big supplier, first page': first(deliveries, byKey(BIG)),
    'big supplier, page after page': walking(`${deliveries}?limit=50`, byKey(BIG)),
    'big supplier, one order': get(() => `${deliveries}?orderId=${order()}`, byKey(BIG)),
    'usual supplier, first page': first(deliveries, byKey(USUAL)),
    'usual supplier, of an hour': walking(`${deliveries}?${hour}`, byKey(USUAL)),
    'usual supplier, of no product': walking(`${deliveries}?product=none`, byKey(USUAL)),
    'small supplier, first page': first(`${deliveries}?limit=20`, byKey(SMALL)),
    'former supplier, page after page': walking(`${deliveries}?limit=20`, byKey(OLD)),
    'refusals of a supplier': walking('/Supplier/refusals?limit=50', byKey(USUAL)),
    'refusals of all': walking('/Purchase/refusals?limit=50', operator),
    'counts by day': first(`/Purchase/stats?by=day&from=${time(0)}&to=${time(8_640_000)}`, operator),
    'audit log': walking('/Operator/audit?limit=50', operator),
    customers: walking('/Operator/customers?limit=50', operator),
    'customers by e-mail': first(`/Operator/customers?search=${BIG_EMAIL}`, operator),
    'one customer': first(`/Operator/customer/${supplierId(BIG)}`, operator),
    'find an order': find(order),
    'find a receipt': find(receipt),
    'find an API key': find(() => suppliers[OLD - 1]?.keyId ?? ''),
  } satisfies Record<string, () => Promise<unknown>>
}

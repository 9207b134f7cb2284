import { describe, expect, it } from 'vitest'
import { exchange, parseAnswers } from '../support/app/raw-http.ts'
import { addSupplier } from '../support/app/supplier.ts'
import { addCustomer, PASSWORD, testApp, testAppBeside } from '../support/app/test-app.ts'

const service = await testApp()
const strict = await testAppBeside(service, { TESLIM_PURCHASE_BEARER: 'required' })
const lax = await testAppBeside(service, { TESLIM_PURCHASE_BEARER: 'ignored' })
const { email } = await addCustomer(service, { scope: 'operator' })
const { Token } = (await service.login({ Email: email, Password: PASSWORD })).json().data
const { key, customer } = await addSupplier(service, { isApi: true })
const own = (await service.login({ Email: customer.email, Password: PASSWORD })).json().data.Token as string

for (const { app } of [service, strict, lax]) await app.listen({ port: 0 })

const urlOf = ({ app }: typeof service): string =>
  `http://127.0.0.1:${(app.server.address() as { readonly port: number }).port}`

/** Sends a request with these headers, and reads the only answer. */
async function ask(line: string, headers: readonly string[], body = '', at = service) {
  const head = [`${line} HTTP/1.1`, 'Host: a', 'Connection: close', `Content-Length: ${body.length}`, ...headers]
  const [answer] = parseAnswers(await exchange(urlOf(at), `${head.join('\r\n')}\r\n\r\n${body}`))
  return answer
}

const REFUSED = { status: 401, body: { errorCode: 'TOKEN_MALFORMED' } }

describe('two Authorization headers are a 401', () => {
  const reads: [string, string[]][] = [
    ['GET /Customer/Get', []],
    ['GET /Purchase/feed', []],
    ['GET /Purchase/feed', ['Accept: text/event-stream']],
    ['GET /Operator/live', []],
    ['GET /Operator/live', ['Accept: text/event-stream']],
    ['GET /Webhook/endpoints', []],
    ['POST /Operator/customers', ['Content-Type: application/json']],
  ]
  it.each(reads)('on %s with %j, whichever comes first and in any letter case', async (line, more) => {
    const [good, bad] = [`Authorization: Bearer ${Token}`, 'AUTHORIZATION: Bearer x']
    for (const pair of [
      [good, bad],
      [bad, good],
      [good, good],
    ])
      expect(await ask(line, [...pair, ...more])).toMatchObject(REFUSED)
  })

  it('on a delivery where a token counts, and where none counts they do no harm', async () => {
    const headers = [`ApiKey: ${key}`, `Authorization: Bearer ${own}`]
    const deliver = (at: typeof service, sent: string[]) => ask('POST /Purchase/update', sent, '{"Status":1}', at)
    const twice = [...headers, `Authorization: Bearer ${own}`]
    for (const at of [service, strict]) {
      expect(await deliver(at, headers)).toMatchObject({ status: 200 })
      expect(await deliver(at, twice)).toMatchObject(REFUSED)
    }
    expect(await deliver(lax, twice)).toMatchObject({ status: 200 })
  })
})

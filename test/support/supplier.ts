import type { InjectOptions } from 'fastify'
import { createApiKeys } from '#src/customer/api-key.rule.ts'
import type { Customers } from '#src/customer/customer.rule.ts'
import { systemRandom } from '#src/lib/random.ts'
import { addCustomer, PASSWORD, type TestApp } from './test-app.ts'

/** A customer that delivers under a key, and reads back under a token. */
export async function readingSupplier(service: TestApp, more: Partial<Parameters<Customers['add']>[0]> = {}) {
  const { app, store, customers, clock } = service
  const customer = await addCustomer(service, { authority: ['*'], ...more })
  const { key } = await createApiKeys({ store, customers, clock, random: systemRandom }).issue(customer.id, 'test')
  const logIn = async (): Promise<string> =>
    (await service.login({ Email: customer.email, Password: PASSWORD })).json().data.Token
  const token = await logIn()

  const deliver = async (payload: string | Buffer | object): Promise<{ ReceiptID: string; ReceivedAt: string }> => {
    const body = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload)
    const answer = await app.inject({
      method: 'POST',
      url: '/Purchase/update',
      headers: { ApiKey: key },
      payload: body,
    })
    if (answer.statusCode !== 200) throw new Error(answer.payload)
    return answer.json().data
  }
  const get = (url: string, headers = {}, options: InjectOptions = {}) =>
    app.inject({ url, headers: { authorization: `Bearer ${token}`, ...headers }, ...options })
  return { customer, token, logIn, deliver, get }
}

export type ReadingSupplier = Awaited<ReturnType<typeof readingSupplier>>

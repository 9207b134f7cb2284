import type { InjectOptions } from 'fastify'
import { createApiKeys } from '#src/customer/api-key.rule.ts'
import type { Customers } from '#src/customer/customer.rule.ts'
import { systemRandom } from '#src/lib/random.ts'
import { addCustomer, PASSWORD, type TestApp } from './test-app.ts'

type Wanted = Partial<Parameters<Customers['add']>[0]>

/** A customer with an API key, under which it may deliver everything. For servers that run as processes: ledger.ts. */
export async function addSupplier(service: TestApp, more: Wanted = {}, keyMilliseconds?: number) {
  const { store, customers, clock } = service
  const customer = await addCustomer(service, { authority: ['*'], ...more })
  const apiKeys = createApiKeys({ store, customers, clock, random: systemRandom })
  const { key, view } = await apiKeys.issue(customer.id, 'test', keyMilliseconds)
  return { customer, apiKeys, key, keyId: view.id }
}

/** A supplier that also logs in and reads back. */
export async function readingSupplier(service: TestApp, more: Wanted = {}) {
  const { app } = service
  const { customer, apiKeys, key, keyId } = await addSupplier(service, more)
  const logIn = async (): Promise<string> =>
    (await service.login({ Email: customer.email, Password: PASSWORD })).json().data.Token
  const token = await logIn()

  const deliver = async (
    payload: string | Buffer | object,
    headers = {},
  ): Promise<{ ReceiptID: string; ReceivedAt: string }> => {
    const body = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload)
    const answer = await app.inject({
      method: 'POST',
      url: '/Purchase/update',
      headers: { ApiKey: key, ...headers },
      payload: body,
    })
    if (answer.statusCode !== 200) throw new Error(answer.payload)
    return answer.json().data
  }
  const get = (url: string, headers = {}, options: InjectOptions = {}) =>
    app.inject({ url, headers: { authorization: `Bearer ${token}`, ...headers }, ...options })
  return { customer, apiKeys, key, keyId, token, logIn, deliver, get }
}

export type ReadingSupplier = Awaited<ReturnType<typeof readingSupplier>>

import type { InjectOptions } from 'fastify'
import { addCustomer, PASSWORD, type TestApp } from './test-app.ts'

type Wanted = Parameters<typeof addCustomer>[1]

/** An operator that is logged in, with all rights unless said otherwise. */
export async function operating(service: TestApp, more: Wanted = {}) {
  const { app } = service
  const operator = await addCustomer(service, { scope: 'operator', ...more })
  const { Token: token } = (await service.login({ Email: operator.email, Password: PASSWORD })).json().data
  const authorization = `Bearer ${token}`
  const get = (url: string, headers = {}) => app.inject({ url, headers: { authorization, ...headers } })
  const post = (url: string, payload?: object | string, options: InjectOptions = {}) =>
    app.inject({
      method: 'POST',
      url,
      headers: { authorization, ...(payload !== undefined && { 'content-type': 'application/json' }) },
      ...(payload !== undefined && { payload }),
      ...options,
    })
  return { operator, token, get, post }
}

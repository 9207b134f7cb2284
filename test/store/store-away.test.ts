import { expect, it, onTestFinished } from 'vitest'
import { failure } from '../support/app/failure.ts'
import { addSupplier } from '../support/app/supplier.ts'
import { PASSWORD, testApp } from '../support/app/test-app.ts'
import { startPostgres } from '../support/postgres/postgres-server.ts'

it('while the database is away everybody is told to come back, and afterwards all is as it was', async () => {
  const server = await startPostgres()
  const service = await testApp({ DATABASE_URL: server.url })
  onTestFinished(() => server.remove())
  const { app } = service
  const { customer, key } = await addSupplier(service)
  const logIn = () => service.login({ Email: customer.email, Password: PASSWORD })
  const deliver = () =>
    app.inject({
      method: 'POST',
      url: '/Purchase/update',
      headers: { apikey: key },
      payload: '{"OrderID":"1","Status":1}',
    })
  const token = (await logIn()).json().data.Token
  const read = () => app.inject({ url: '/Purchase/list', headers: { authorization: `Bearer ${token}` } })
  const all = [logIn, deliver, read]
  expect(await Promise.all(all.map(async (ask) => (await ask()).statusCode))).toEqual([200, 200, 200])

  await server.kill()
  for (const ask of all) {
    const answer = await ask()
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, expect.any(String)])
    expect(answer.json()).toEqual({
      data: null,
      success: false,
      message: expect.not.stringMatching(/postgres|ECONN|127\.0\.0\.1/i),
      errorCode: 'STORE_UNAVAILABLE',
      requestId: expect.any(String),
    })
  }
  const unready = await app.inject('/readyz')
  const message = 'The store cannot take anything: the database cannot be reached.'
  expect([unready.statusCode, unready.json()]).toEqual([503, failure('STORE_UNAVAILABLE', { message })])
  expect((await app.inject('/livez')).statusCode).toBe(200)

  const linesOf = (message: string) => service.log.filter(({ msg }) => msg === message)
  expect(linesOf('store lost')).toEqual([expect.objectContaining({ level: 50, reason: expect.stringMatching(/./) })])
  await server.start()
  await expect.poll(async () => (await logIn()).statusCode, { timeout: 10_000 }).toBe(200)
  expect((await deliver()).json().data).toMatchObject({ Duplicate: true })
  expect((await read()).json().data.Orders).toHaveLength(1)
  await expect.poll(() => linesOf('store back').length, { timeout: 5000 }).toBe(1)
})

import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { operating } from '../support/app/operating.ts'
import { addCustomer, testApp } from '../support/app/test-app.ts'

it('what an operator did is done, and said in the log, if it cannot be recorded', async () => {
  const service = await testApp({ TESLIM_WEBHOOK_ALLOW: 'backoffice.example' })
  const { config, log } = service
  const { post } = await operating(service)
  const { id } = await addCustomer(service)
  const raw = new DatabaseSync(config.databaseUrl.replace('sqlite:', ''))
  raw.exec(`CREATE TRIGGER full BEFORE INSERT ON audit_event BEGIN SELECT raise(ABORT, 'no room'); END`)
  raw.close()
  const disabled = await post(`/Operator/customer/${id}/disable`)
  const added = await post('/Webhook/endpoints', { URL: 'https://backoffice.example/' })
  expect([disabled.statusCode, added.statusCode]).toEqual([200, 200])
  const msg = 'an action is done, but could not be written to the audit log'
  expect(log.filter((line) => line.msg === msg)).toMatchObject([
    { level: 40, action: 'customer.disable', requestId: disabled.headers['x-request-id'] },
    { level: 40, action: 'webhook.add', requestId: added.headers['x-request-id'] },
  ])
})

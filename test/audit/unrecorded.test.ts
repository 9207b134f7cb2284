import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { operating } from '../support/app/operating.ts'
import { addCustomer, testApp } from '../support/app/test-app.ts'
import { runSql, storesOfRun } from '../support/store/stores.ts'

const NOT_DONE = 'Nothing was done, because it could not be written to the audit log.'
const DONE = 'This is done, but could not be written to the audit log: note it elsewhere, and do not do it again.'

/** Makes the database refuse events that a condition is true of, and returns what lets them in again. */
async function refuseEvents(url: string, condition: string): Promise<() => Promise<void>> {
  if (!url.startsWith('sqlite:')) {
    await runSql(
      url,
      `CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no room'; END $$;
       CREATE TRIGGER no_room BEFORE INSERT ON audit_event FOR EACH ROW WHEN (${condition}) EXECUTE FUNCTION no_room()`,
    )
    return async () => void (await runSql(url, 'DROP TRIGGER no_room ON audit_event'))
  }
  const run = async (sql: string) => {
    const raw = new DatabaseSync(url.replace('sqlite:', ''))
    raw.exec(sql)
    raw.close()
  }
  await run(
    `CREATE TRIGGER no_room BEFORE INSERT ON audit_event WHEN ${condition} BEGIN SELECT raise(ABORT, 'no room'); END`,
  )
  return () => run('DROP TRIGGER no_room')
}

describe.each(storesOfRun())('on %s', async (_, emptyStore) => {
  const setUp = async () => {
    const service = await testApp({ TESLIM_WEBHOOK_ALLOW: 'backoffice.example', ...(await emptyStore()) })
    const asked = await operating(service)
    const { id } = await addCustomer(service)
    const events = async () => (await service.store.audit.list({ limit: 100 })).map(({ action }) => action)
    return { ...service, ...asked, id, events, url: service.config.databaseUrl }
  }

  it('what gives somebody something is not done where it cannot be recorded; what takes away is, and says so', async () => {
    const { post, get, id, log, url, store, events } = await setUp()
    const before = await events()
    await refuseEvents(url, 'NEW.at > 0')
    const given = [
      await post(`/Operator/customer/${id}/keys`, { Label: 'x' }),
      await post(`/Operator/customer/${id}/allow`, { Rules: ['*'] }),
      await post('/Webhook/endpoints', { URL: 'https://backoffice.example/' }),
      await get('/Operator/customers', { accept: 'text/csv' }),
    ]
    for (const answer of given) expect([answer.statusCode, answer.json().message]).toEqual([503, NOT_DONE])
    expect(await store.apiKeys.list(id)).toEqual([])
    expect(await store.webhooks.list()).toEqual([])
    expect((await store.customers.findById(id))?.authority).not.toContain('*')
    const reason = expect.stringMatching(/^nothing was done, as it could not be written to the audit log: .*no room/)
    expect(log.filter((line) => line.status === 503)).toMatchObject(given.map(() => ({ reason })))

    const disabled = await post(`/Operator/customer/${id}/disable`)
    expect([disabled.statusCode, disabled.json().message]).toEqual([503, DONE])
    expect((await store.customers.findById(id))?.enabled).toBe(false)
    const msg = 'an action is done, but could not be written to the audit log'
    expect(log.filter((line) => line.msg === msg)).toMatchObject([
      { level: 40, action: 'customer.disable', requestId: disabled.headers['x-request-id'] },
    ])
    expect(await events()).toEqual(before)
  })

  it('a change whose own event is refused is done, and the answer is a 503 that says so', async () => {
    const { post, id, url, store } = await setUp()
    await refuseEvents(url, `NEW.details <> '{}'`)
    const allowed = await post(`/Operator/customer/${id}/allow`, { Rules: ['*'] })
    expect([allowed.statusCode, allowed.json().message]).toEqual([503, DONE])
    expect((await store.customers.findById(id))?.authority).toContain('*')
  })

  it('refusals that cannot be written fail the check of health as long as they wait', async () => {
    const { app, get, url, store, clock } = await setUp()
    const found = async () => {
      const { Checks, Status } = (await get('/Operator/health')).json().data
      return [Status, Checks.filter(({ Name }: { Name: string }) => Name === 'audit log')] as const
    }
    const letIn = await refuseEvents(url, `NEW.action = 'delivery.refused'`)
    await app.inject({ method: 'POST', url: '/Purchase/update', headers: { ApiKey: 'tsl_wrong' }, payload: '{}' })
    await app.flushRefusals()
    const since = new Date(clock.now()).toISOString()
    clock.time += 5000
    await app.flushRefusals()
    const [status, checks] = await found()
    expect(status).toBe('failed')
    expect(checks.filter(({ Code }: { Code: string }) => Code === 'AUDIT_WAITS')).toEqual([
      expect.objectContaining({
        Status: 'failed',
        Message: expect.stringMatching(
          /^since .* refusals could not be written to the audit log, and 1 event waits in memory: .*no room/,
        ),
        Values: { since, count: 1, reason: expect.stringContaining('no room') },
      }),
    ])
    await letIn()
    await app.flushRefusals()
    expect((await found())[1].filter(({ Code }: { Code: string }) => Code === 'AUDIT_WAITS')).toEqual([])
    expect(await store.audit.list({ action: 'delivery.refused', limit: 9 })).toHaveLength(1)
  })
})

import { randomUUID } from 'node:crypto'
import { readFileSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { newDatabase, runSql } from '../support/postgres/postgres-server.ts'
import { makeSupplier } from '../support/processes/ledger.ts'
import { runPrepared } from '../support/processes/prepared-commands.ts'
import { type RunOptions, SCRIPT, serve } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const root = resolve(import.meta.dirname, '../..')

/** A login, deliveries, and what operators see. With `administer` their customer is changed and shut out afterwards. */
async function useAll(
  where: RunOptions,
  { node = [], administer = false }: { readonly node?: readonly string[]; readonly administer?: boolean } = {},
): Promise<void> {
  const run = async (...args: string[]) => JSON.parse((await runPrepared([...args, '--json'], where)).stdout)
  const { keyId: id, password, key } = await makeSupplier(where, ['--api', '--operator', '--allow', 'A'])
  const { url, child, ended } = await serve({ ...where, node })
  const login = () =>
    fetch(`${url}/Login/Customer/Api/Verify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ Email: 'a@b.co', Password: password }),
    })
  const deliver = (headers = {}, body = '{"OrderID":"1","Status":1,"ProductID":"A"}') =>
    fetch(`${url}/Purchase/update`, {
      method: 'POST',
      headers: { ApiKey: key, ...headers },
      body,
    })
  const answer = await login()
  expect(answer.status).toBe(200)
  const { data } = (await answer.json()) as { data: { Token: string } }
  const see = async (path: string) =>
    (await (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${data.Token}` } })).json()) as {
      data: { StoreUp?: boolean; Checks?: { Name: string; Status: string; Message: string }[] }
    }
  expect((await see('/Operator/live')).data.StoreUp).toBe(true)
  const { Checks: checks = [] } = (await see('/Operator/health')).data
  expect(checks.filter(({ Status }) => Status === 'failed')).toEqual([])
  expect(checks.map(({ Name }) => Name)).toContain('API keys')
  const twice = [deliver({ 'idempotency-key': 'k' }), deliver({ 'idempotency-key': 'k' }), deliver()]
  expect((await Promise.all(twice)).map(({ status }) => status)).toEqual([200, 200, 200])
  if (administer) {
    await run('customer', 'disallow', 'a@b.co', 'A')
    await run('key', 'revoke', id)
    await run('customer', 'disable', 'a@b.co')
    // Nothing that would be stored until the server knows.
    await expect.poll(async () => (await deliver({}, '{}')).status, { timeout: 2000 }).toBe(401)
    expect((await login()).status).toBe(400)
  }
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
}

/** Old events go as the service deletes them, whatever it asks for, and those of the last day stay. */
async function expireAsService(owner: string, service: string): Promise<void> {
  await runSql(
    owner,
    `INSERT INTO audit_event (at, actor, action, details)
     SELECT (extract(epoch FROM now()) * 1000)::bigint - days * 86400000::bigint, 'a', 'old', '{}' FROM unnest(ARRAY[2, 40, 500]) days`,
  )
  const events = async () =>
    (
      await runSql(
        owner,
        `SELECT count(*)::integer AS all, count(*) FILTER (WHERE action = 'old')::integer AS old FROM audit_event`,
      )
    )[0]
  const before = await events()
  expect(before?.old).toBe(3)
  expect(Number(before?.all)).toBeGreaterThan(3)
  await runSql(service, `SELECT delete_audit_1(${Number.MAX_SAFE_INTEGER}, 1000)`)
  expect(await events()).toEqual({ all: Number(before?.all) - 3, old: 0 })
}

describe('a PostgreSQL role with the grants of deploy/postgres/service-role.sql', () => {
  it('serves and administers, and can change neither tables nor history', async () => {
    const owner = await newDatabase(inject('postgresUrl'))
    const cwd = tempFolder()
    await runPrepared(['migrate'], { cwd, env: { DATABASE_URL: owner } })
    const role = `service_${randomUUID().replaceAll('-', '')}`
    const grants = readFileSync(join(root, 'deploy/postgres/service-role.sql'), 'utf8')
    // Roles belong to the whole server, which other tests use too.
    for (let times = 0; times < 2; times++) await runSql(owner, grants.replaceAll('teslim_service', role))
    const url = new URL(owner)
    url.username = role
    await useAll({ cwd, env: { DATABASE_URL: url.href, NODE_ENV: 'production' } }, { administer: true })
    for (const statement of [
      'CREATE TABLE t (a integer)',
      'ALTER TABLE customer ADD COLUMN a integer',
      'DROP TABLE customer',
      'TRUNCATE delivery',
      'UPDATE delivery SET status = 3',
      'DELETE FROM delivery',
      'DELETE FROM schema_migration',
      'DELETE FROM delivery_hour',
      'UPDATE roll_up SET position = 0',
      'UPDATE audit_event SET at = 0',
      'DELETE FROM audit_event',
      'DELETE FROM history',
      'UPDATE history SET resumed_after = 0',
      "SELECT purge_1('{}', '{}', 9)",
      'CREATE TEMPORARY TABLE t (a integer)',
      'CREATE OR REPLACE FUNCTION deliver_1() RETURNS void LANGUAGE sql AS $$ $$',
      `COPY customer TO PROGRAM 'cat'`,
    ]) {
      await expect(runSql(url.href, statement), statement).rejects.toThrow(/permission denied|must be owner/)
    }
    expect(await runSql(owner, 'SELECT count(*)::integer AS count FROM delivery')).toEqual([{ count: 2 }])
    await expireAsService(owner, url.href)
    await runSql(owner, `DROP OWNED BY ${role}; DROP ROLE ${role}`)
  })

  it('can use what a later migration adds, and cannot change the history in partitions that are made later', async () => {
    const owner = await newDatabase(inject('postgresUrl'))
    const cwd = tempFolder()
    await runPrepared(['migrate'], { cwd, env: { DATABASE_URL: owner } })
    const role = `service_${randomUUID().replaceAll('-', '')}`
    const script = (name: string) =>
      readFileSync(join(root, 'deploy/postgres', name), 'utf8').replaceAll('teslim_service', role)
    await runSql(owner, script('service-role.sql'))
    const url = new URL(owner)
    url.username = role

    await runSql(
      owner,
      `CREATE TABLE later (a integer);
       CREATE SEQUENCE later_position;
       CREATE FUNCTION later_function() RETURNS integer LANGUAGE sql AS 'SELECT 7';
       REVOKE EXECUTE ON FUNCTION later_function() FROM PUBLIC`,
    )
    await runSql(url.href, 'INSERT INTO later VALUES (1); UPDATE later SET a = 2; DELETE FROM later')
    expect(await runSql(url.href, `SELECT nextval('later_position')::integer AS a, later_function() AS b`)).toEqual([
      { a: 1, b: 7 },
    ])

    await runSql(owner, script('partition-by-month.sql'))
    await runSql(owner, `SELECT teslim_make_month('2099-01-01')`)
    await useAll({ cwd, env: { DATABASE_URL: url.href, NODE_ENV: 'production' } })
    for (const table of ['delivery', 'delivery_before', 'delivery_2099_01'])
      for (const statement of [`UPDATE ${table} SET status = 3`, `DELETE FROM ${table}`, `TRUNCATE ${table}`])
        await expect(runSql(url.href, statement), statement).rejects.toThrow(/permission denied/)
    await runSql(owner, `DROP OWNED BY ${role}; DROP ROLE ${role}`)
  }, 60_000)
})

describe('a role of the same PostgreSQL cluster that has nothing to do with teslim', () => {
  it('cannot connect, so it cannot hold the lock of all deliveries, and may run nothing with the rights of the owner', async () => {
    const owner = await newDatabase(inject('postgresUrl'))
    const cwd = tempFolder()
    await runPrepared(['migrate'], { cwd, env: { DATABASE_URL: owner } })
    const [tenant, role] = ['tenant', 'service'].map((name) => `${name}_${randomUUID().replaceAll('-', '')}`)
    await runSql(owner, `CREATE ROLE ${tenant} LOGIN`)
    const url = new URL(owner)
    url.username = `${tenant}`
    const rights = async () => {
      const { stdout } = await runPrepared(['doctor', '--json'], { cwd, env: { DATABASE_URL: owner } })
      const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string; message: string }[] }
      return checks.filter(({ name }) => name === 'rights').map(({ status, message }) => `${status}: ${message}`)
    }
    expect(await rights()).toEqual([
      expect.stringMatching(/^warning: every role .* REVOKE CONNECT, TEMPORARY ON DATABASE/),
    ])
    for (const call of ['make_months_1(100000)', 'count_deliveries_1(1)', 'delete_audit_1(9, 9)', 'drop_months_1(9)'])
      await expect(runSql(url.href, `SELECT ${call}`), call).rejects.toThrow(/permission denied for function/)

    const script = readFileSync(join(root, 'deploy/postgres/service-role.sql'), 'utf8')
    await runSql(owner, script.replaceAll('teslim_service', `${role}`))
    await expect(runSql(url.href, 'SELECT pg_advisory_lock(7425, 0)')).rejects.toThrow(/permission denied for database/)
    url.username = `${role}`
    expect(await runSql(url.href, 'SELECT make_months_1(3) AS made')).toEqual([{ made: 0 }])
    expect(await rights()).toEqual([])
    for (const each of [tenant, role]) await runSql(owner, `DROP OWNED BY ${each}; DROP ROLE ${each}`)
  })
})

it('a server that does not verify a database elsewhere says so in one line at its start, and doctor says so', async () => {
  const url = new URL(await newDatabase(inject('postgresUrl')))
  // This machine, by an address that is not loopback's.
  url.hostname = '0.0.0.0'
  const where = { cwd: tempFolder(), env: { NODE_ENV: 'production', DATABASE_URL: url.href } }
  await makeSupplier(where)
  const said = 'the connection to 0.0.0.0 is not verified'
  const server = await serve(where)
  await server.printed(/is not verified/)
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
  expect(server.output().split(said)).toHaveLength(2)
  const { stdout } = await runPrepared(['doctor'], where)
  expect(stdout).toMatch(new RegExp(`^warning +network +${said}.*sslmode=verify-full`, 'm'))
})

describe("Node's permission model", () => {
  const installed = resolve(SCRIPT, '../..')
  const modules = realpathSync(join(installed, 'node_modules'))

  it('with the flags in docs/security.md serves, and opens nothing but its own folders', async () => {
    const cwd = tempFolder()
    const data = join(cwd, 'data')
    const documented = /^node (--permission [^`]+?) \S+\/bin\/teslim\.js serve$/m.exec(
      readFileSync(join(root, 'docs/security.md'), 'utf8').replaceAll(' \\\n  ', ' '),
    )?.[1]
    const node = (documented ?? '')
      .split(' ')
      .map((flag) => flag.replace('=/srv/teslim/data', `=${data}`).replace('=/srv/teslim/.env', `=${cwd}/.env`))
      .map((flag) => flag.replace('=/opt/teslim', `=${installed}`))
    expect(node).toContain(`--allow-fs-write=${data}`)
    // Here, where the modules may be a link to those of another folder.
    node.push(`--allow-fs-read=${modules}`)
    await useAll({ cwd, env: { NODE_ENV: 'production' }, program: SCRIPT }, { node, administer: true })
    const outside = { NODE_ENV: 'production', DATABASE_URL: `sqlite:${join(tempFolder(), 'x.db')}` }
    await expect(serve({ cwd, env: outside, node, program: SCRIPT })).rejects.toThrow(
      /cannot be opened: Access to this API/,
    )
  })
})

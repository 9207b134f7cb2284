import { chownSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { startCollector } from '../support/app/trace-collector.ts'
import { build as buildInto } from '../support/processes/package.ts'
import { type RunOptions, serveSandbox, teslim } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { startReceiver } from '../support/webhooks/webhook-receiver.ts'

export const ROOT = resolve(import.meta.dirname, '../..')

/** Builds into a new folder and returns it. */
export function build(...options: string[]): string {
  const out = join(tempFolder(), 'dist')
  buildInto(out, ...options)
  return out
}

/** What a page links to or preloads, as paths. */
const LINKED = /(?:src|href)="(\/[^"]+)"/g

/** Uses a program in an empty folder as somebody who has just installed it: every kind of file that it reads and thread that it starts. */
export async function tryOut(options: Omit<RunOptions, 'cwd'>): Promise<void> {
  const collector = await startCollector()
  const receiver = await startReceiver()
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '50',
    TESLIM_WEBHOOK_ALLOW: new URL(receiver.url).host,
    ...options.env,
  }
  const inside = { ...options, env, cwd: tempFolder() }
  const { uid = -1, gid = -1 } = options.identity ?? {}
  chownSync(inside.cwd, uid, gid)
  const run = async (...args: string[]): Promise<string> => {
    const { status, stdout, stderr } = await teslim(args, inside)
    expect({ args, status, stderr }).toEqual({ args, status: 0, stderr: expect.any(String) })
    return stdout
  }
  const { server, email, password, apiKey } = await serveSandbox(inside)
  const get = async (path: string, headers = {}): Promise<string> => {
    const answer = await fetch(`${server.url}${path}`, { headers })
    expect([path, answer.status]).toEqual([path, 200])
    return answer.text()
  }
  const post = async (path: string, body: object, headers = {}) => {
    const answer = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    expect([path, answer.status]).toEqual([path, 200])
    return ((await answer.json()) as { data: Record<string, string> }).data
  }

  await run('webhook', 'add', '--url', receiver.url)
  // Threads that hash, sign, write and read.
  const logins = Array.from({ length: 4 }, () =>
    post('/Login/Customer/Api/Verify', { Email: email, Password: password }),
  )
  const [{ Token = '' } = {}] = await Promise.all(logins)
  await post('/Purchase/update', { OrderID: 'PO-1', Status: 1, ProductID: 'SKU-1' }, { ApiKey: apiKey })
  expect(await get('/Purchase/list', { authorization: `Bearer ${Token}` })).toContain('"OrderID":"PO-1"')

  await receiver.arrived(1)
  await expect.poll(() => collector.spans.length, { timeout: 10_000 }).toBeGreaterThan(0)

  for (const page of ['/console', '/docs', '/docs/suppliers', '/docs/tr/suppliers']) {
    for (const [, path = ''] of (await get(page)).matchAll(LINKED)) await get(path)
  }
  expect(await get('/docs/suppliers.md')).toContain('# For suppliers')
  expect(await get('/docs/tr/suppliers.md')).toContain('# Tedarikçiler için')
  expect(await get('/openapi.yaml')).toMatch(/^openapi: 3\.1/)

  // A password that is looked for in the list of common ones.
  const add = ['customer', 'add', '--email', 'op@x.test', '--api', '--operator', '--password-stdin']
  expect((await teslim(add, { ...inside, stdin: 'liverpool' })).stderr).toContain('most used')
  expect(await teslim(add, { ...inside, stdin: 'correct horse battery staple' })).toMatchObject({ status: 0 })
  const operator = await post('/Login/Customer/Api/Verify', {
    Email: 'op@x.test',
    Password: 'correct horse battery staple',
  })
  // The thread of the checks.
  const health = await get('/Operator/health', { authorization: `Bearer ${operator.Token}` })
  expect(health).toContain('is at the schema of this version')

  const { key } = JSON.parse(await run('key', 'issue', '--customer', email, '--json'))
  expect(key).toMatch(/^tsl_/)
  expect(await run('completion', 'bash')).toContain('complete ')
  expect(await run('help', 'backup')).toContain('teslim backup')
  expect(await run('doctor')).toContain('is at the schema of this version')
  const backup = join(inside.cwd, 'copy.db')
  await run('backup', backup)
  expect(statSync(backup).size).toBeGreaterThan(0)
  expect(await run('restore', backup, '--check')).toContain('1')

  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
  expect(server.output()).not.toContain('"level":50')
}

import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { CHECKOUT, serveSandbox } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const NOT_FOUND = /code cache for \w+ (?:file:\/\/)?(\/\S+) was not initialized/g

it('the cache that an install fills has all that a server or a new password compiles, for where nothing can be written; common passwords are loaded for the latter only, and no start compiles modules of Node again, or loads the validator', async () => {
  const env = { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: tempFolder() }
  const { status } = spawnSync(process.execPath, ['tools/warm-cache.js'], { cwd: ROOT, env })
  expect(status).toBe(0)

  const notFound = (log: string) => Array.from(log.matchAll(NOT_FOUND), ([, path = '']) => relative(ROOT, path))
  const options = {
    cwd: tempFolder(),
    env: { ...env, NODE_DEBUG_NATIVE: 'COMPILE_CACHE,CODE_CACHE' },
    program: CHECKOUT,
  }
  const { server, email, password, apiKey } = await serveSandbox(options)
  // Under other flags than Node was built with, V8 rejects what it compiled of Node's modules.
  const [start = ''] = server.output().split('listening on')
  expect(start).toMatch(/Code cache of http .* is accepted/)
  expect(start.match(/Code cache of .* is rejected/g)).toBeNull()
  expect(start).toContain('/node_modules/fastify/')
  expect(start).not.toContain('/node_modules/ajv/')
  const headers = { 'content-type': 'application/json', ApiKey: apiKey }
  for (const [path, body] of [
    ['/Login/Customer/Api/Verify', { Email: email, Password: password }],
    ['/Purchase/update', { OrderID: 'PO-1', Status: 1 }],
  ] as const) {
    const answer = await fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    expect(answer.status).toBe(200)
  }
  expect((await fetch(`${server.url}/Supplier/deliveries`, { headers: { ApiKey: apiKey } })).status).toBe(200)
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
  expect(server.output()).toMatch(/code cache for ESM \S+\/src\/app\.ts was accepted/)
  expect(notFound(server.output())).toEqual([])
  // The list of common passwords is needed by neither a start with a sandbox nor a login.
  expect(server.output()).not.toContain('language-common')

  const add = [CHECKOUT, 'customer', 'add', '--email', 'a@x.test', '--password-stdin']
  const added = spawnSync(process.execPath, add, {
    ...options,
    input: 'correct horse',
    encoding: 'utf8',
  })
  expect(added).toMatchObject({ status: 0 })
  const log = added.stdout + added.stderr
  expect(log).toMatch(/code cache for CommonJS \S+language-common\S+ was accepted/)
  expect(notFound(log)).toEqual([])
})

it('an install by npm 9 or 10, which link no Node, ends with that of this machine linked, and with its cache filled', () => {
  const root = tempFolder()
  const name = `node-${process.platform}-${process.arch}`
  for (const folder of ['tools', 'node_modules/.bin', `node_modules/${name}/bin`])
    mkdirSync(join(root, folder), { recursive: true })
  const script = join(root, 'tools/warm-cache.js')
  copyFileSync(join(ROOT, 'tools/warm-cache.js'), script)
  const node = join(root, 'node_modules', name, 'bin/node')
  writeFileSync(node, '#!/bin/sh\necho "$@" > "$0.ran"\n', { mode: 0o755 })
  expect(spawnSync(process.execPath, [script]).status).toBe(0)
  const link = join(root, 'node_modules/.bin/node')
  expect(realpathSync(link)).toBe(realpathSync(node))
  expect(readFileSync(`${link}.ran`, 'utf8').trim()).toBe(realpathSync(script))
})

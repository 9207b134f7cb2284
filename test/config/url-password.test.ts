import { describe, expect, it } from 'vitest'
import { maskUrlPassword, withoutUrlPassword } from '#src/config/setting-kinds.ts'
import { operating } from '../support/app/operating.ts'
import { testApp } from '../support/app/test-app.ts'
import { newPostgresStore } from '../support/postgres/postgres-session.ts'
import { runCommand } from '../support/processes/command.ts'
import { tempFolder } from '../support/temp-folder.ts'

/** Each has a password of which every part contains `geheim`. */
const URLS = [
  ['plain', 'postgres://u:geheim1@127.0.0.1:1/x?sslmode=require', 'postgres://u@127.0.0.1:1/x?sslmode=require'],
  ['with an @', 'postgres://u:geheim1@geheim2@127.0.0.1:1/x', 'postgres://u@127.0.0.1:1/x'],
  ['with an @ and an escaped one', 'postgres://u:geheim1@geheim%40geheim2@127.0.0.1:1/x', 'postgres://u@127.0.0.1:1/x'],
  ['with a slash', 'postgres://u:geheim1/geheim2@127.0.0.1:1/x', 'postgres://u@127.0.0.1:1/x'],
  ['with a ? and a #', 'postgresql://u:geheim1?geheim2#geheim3@127.0.0.1:1/x', 'postgresql://u@127.0.0.1:1/x'],
  [
    'as a parameter',
    'postgres://127.0.0.1:1/x?user=u&password=geheim1@geheim2&a=1',
    'postgres://127.0.0.1:1/x?user=u&a=1',
  ],
  [
    'beside a user with an @, both as parameters',
    'postgres://one:5433,two:5433/x?user=me@srv&password=geheim1',
    'postgres://one:5433,two:5433/x?user=me@srv',
  ],
  ['as a parameter in other letters', 'postgres://u@127.0.0.1:1/x?PASSWORD=geheim1', 'postgres://u@127.0.0.1:1/x'],
  ['as an escaped parameter', 'postgres://u@127.0.0.1:1/x?p%61ssword=geheim1', 'postgres://u@127.0.0.1:1/x'],
] as const

describe.each(URLS)('a password of the database %s', (_name, url, without) => {
  it('is masked whole, and left out whole', () => {
    expect(maskUrlPassword(url)).not.toContain('geheim')
    expect(maskUrlPassword(url)).toContain('***')
    expect(withoutUrlPassword(url)).toBe(without)
  })

  it.each([
    [['config']],
    [['config', '--json']],
    [['doctor', '--json']],
    [['backup', 'b.dump']],
    [['migrate']],
    [['customer', 'list']],
  ])('is in no output of teslim %j', async (args) => {
    const { stdout, stderr } = await runCommand(args, { cwd: tempFolder(), env: { DATABASE_URL: url } })
    expect(stdout + stderr).not.toBe('')
    expect(stdout + stderr).not.toContain('geheim')
  })
})

it('a password of the database that works is not in GET /Operator/health, nor in teslim doctor', async () => {
  const real = await newPostgresStore()
  const url = real.replace(/^(postgres(?:ql)?:\/\/)(?:([^:@/]*)(?::[^@/]*)?@)?/, '$1$2:geheim1@geheim%40geheim2@')
  expect(url).toContain(':geheim1@')
  const service = await testApp({ DATABASE_URL: url })
  const { get } = await operating(service)
  const health = await get('/Operator/health')
  expect([health.statusCode, health.payload.includes('***')]).toEqual([200, true])
  expect(health.payload).not.toContain('geheim')
  const { stdout } = await runCommand(['doctor'], { cwd: tempFolder(), env: { DATABASE_URL: url } })
  expect(stdout).toContain('***')
  expect(stdout).not.toContain('geheim')
})

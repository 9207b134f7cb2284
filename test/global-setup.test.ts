import { spawnSync } from 'node:child_process'
import { chmodSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { tempFolder } from './support/temp-folder.ts'

const SETUP = new URL('support/processes/global-setup.ts', import.meta.url)
const SERVER = new URL('support/postgres/postgres-server.ts', import.meta.url)

it.each([
  [
    'a setup whose server makes no database',
    `const { default: setup } = await import('${SETUP}'); await setup({ provide() {} })`,
    'cannot execute CREATE DATABASE in a read-only transaction',
  ],
  [
    'a server that does not start',
    `const { startPostgres } = await import('${SERVER}'); await startPostgres({ settings: ['unknown = 1'] })`,
    'the server ended with 1',
  ],
])('%s fails, and leaves neither a PostgreSQL nor a file behind', (_, script, reason) => {
  const folder = tempFolder()
  // The server runs as another user.
  chmodSync(folder, 0o755)
  const variables = { TMPDIR: folder, TESLIM_UNDER_TEST: 'checkout', PGOPTIONS: '-c default_transaction_read_only=on' }
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...process.env, ...variables, TEST_DATABASE_URL: '' },
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([1, expect.stringContaining(reason)])
  expect(globSync('/proc/[0-9]*/cmdline').filter((file) => textOf(file).includes(folder))).toEqual([])
  expect(readdirSync(folder)).toEqual([])
})

/** Empty if the process has ended. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

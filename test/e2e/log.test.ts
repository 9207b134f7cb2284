import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { freePort } from '../support/postgres/postgres-server.ts'
import { shellCommand } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

it('a log that cannot be written keeps the server neither from serving nor from ending', async () => {
  const port = await freePort()
  const env = { PATH: process.env.PATH ?? '', PORT: String(port), TESLIM_OPS_PORT: '0', NODE_ENV: 'production' }
  const command = `exec ${shellCommand('serve')} > /dev/full`
  const child = spawn('sh', ['-c', command], { cwd: tempFolder(), env, stdio: 'ignore' })
  const status = () => fetch(`http://127.0.0.1:${port}/livez`).then((answer) => answer.status)
  await expect.poll(() => status().catch(() => 0), { timeout: 60_000 }).toBe(200)
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
})

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { serve, teslim } from '../support/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const FOLLOWER = fileURLToPath(new URL('../../examples/follower.js', import.meta.url))
const PASSWORD = 'correct horse battery staple'
const DELIVERIES = 400
const KILLS = 6

it('the follower of examples/ loses and repeats nothing, killed at any moment', async () => {
  const cwd = tempFolder()
  const cli = async (args: string[]) => JSON.parse((await teslim([...args, '--json'], { cwd, stdin: PASSWORD })).stdout)
  const { id } = await cli(['customer', 'add', '--email', 'shop@example.com', '--allow', '*', '--password-stdin'])
  await cli(['customer', 'add', '--email', 'office@example.com', '--api', '--operator', '--password-stdin'])
  const { key } = await cli(['key', 'issue', '--customer', id, '--label', 'erp'])
  const { url } = await serve({ cwd })
  const path = join(cwd, 'orders.db')
  let follower: ChildProcess | undefined
  const follow = (): void => {
    const env = {
      PATH: process.env.PATH,
      TESLIM_URL: url,
      TESLIM_EMAIL: 'office@example.com',
      TESLIM_PASSWORD: PASSWORD,
    }
    follower = spawn(process.execPath, [FOLLOWER, path], { env, stdio: 'ignore' })
  }
  const kill = async (): Promise<void> => {
    const ended = once(follower as ChildProcess, 'exit')
    follower?.kill('SIGKILL')
    await ended
  }
  onTestFinished(() => void follower?.kill('SIGKILL'))

  const sent: string[] = []
  const deliver = async (): Promise<void> => {
    while (sent.length < DELIVERIES) {
      const body = `{"OrderID":"PO-${sent.length}","Status":1,"Total":12345678901234567890}`
      sent.push(body)
      expect((await fetch(`${url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key }, body })).status).toBe(
        200,
      )
    }
  }
  const supplier = deliver()
  for (let kills = 0; kills < KILLS; kills++) {
    follow()
    // Somewhere between its start, its login and its transactions.
    await wait(150 + 60 * kills)
    await kill()
  }
  follow()
  await supplier
  const stored = (): string[] => {
    const database = new DatabaseSync(path, { readOnly: true })
    try {
      return database
        .prepare('SELECT payload FROM delivery')
        .all()
        .map(({ payload }) => payload as string)
    } finally {
      database.close()
    }
  }
  await expect.poll(() => stored().length, { timeout: 20_000 }).toBe(DELIVERIES)
  expect(new Set(stored())).toEqual(new Set(sent))
})

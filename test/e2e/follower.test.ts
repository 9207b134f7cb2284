import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { serve, teslim } from '../support/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url))
const PASSWORD = 'correct "horse" \\ battery staple'
const DELIVERIES = 400
const KILLS = 6

const payloadsOfTable = (path: string): string[] => {
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
/** The last line may be one that is being written. */
const payloadsOfLines = (path: string): string[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => Array.from(line.matchAll(/"Payload":(\{[^}]*\})/g), ([, payload = '']) => payload))

const hasCurl = spawnSync('curl', ['--version']).status === 0
if (!hasCurl) console.info('examples/follow.sh is not run: curl is not installed')

const followers = [
  ['follower.js', process.execPath, payloadsOfTable],
  ...(hasCurl ? [['follow.sh', 'sh', payloadsOfLines] as const] : []),
] as const

it.each(followers)('examples/%s loses and repeats nothing, killed at any moment', async (file, program, payloads) => {
  const cwd = tempFolder()
  const cli = async (args: string[]) => JSON.parse((await teslim([...args, '--json'], { cwd, stdin: PASSWORD })).stdout)
  const { id } = await cli(['customer', 'add', '--email', 'shop@example.com', '--allow', '*', '--password-stdin'])
  await cli(['customer', 'add', '--email', 'office@example.com', '--api', '--operator', '--password-stdin'])
  const { key } = await cli(['key', 'issue', '--customer', id, '--label', 'erp'])
  const { url } = await serve({ cwd })
  const path = join(cwd, 'stored')
  let follower: ChildProcess | undefined
  const follow = (): void => {
    const env = {
      PATH: process.env.PATH,
      TESLIM_URL: url,
      TESLIM_EMAIL: 'office@example.com',
      TESLIM_PASSWORD: PASSWORD,
    }
    // A group of its own, so that what a shell has started ends with it.
    follower = spawn(program, [join(EXAMPLES, file), path], { env, stdio: 'ignore', detached: true })
  }
  const kill = async (): Promise<void> => {
    const ended = once(follower as ChildProcess, 'exit')
    process.kill(-Number(follower?.pid), 'SIGKILL')
    await ended
  }
  onTestFinished(kill)

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
  await expect.poll(() => payloads(path).length, { timeout: 20_000 }).toBe(DELIVERIES)
  expect(new Set(payloads(path))).toEqual(new Set(sent))
})

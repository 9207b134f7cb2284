import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { runPrepared } from '../support/processes/prepared-commands.ts'
import { serve } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url))
const PASSWORD = 'correct "horse" \\ battery staple'
const KILLS = 4
const BETWEEN_KILLS = 15

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

const env = { NODE_ENV: 'production' }
const cli = async (args: string[], cwd: string) =>
  JSON.parse((await runPrepared([...args, '--json'], { cwd, env, stdin: PASSWORD })).stdout)

/** A store with a supplier and an operator, for each follower to have a copy of. */
const prepared = tempFolder()
const { id } = await cli(
  ['customer', 'add', '--email', 'shop@example.com', '--allow', '*', '--password-stdin'],
  prepared,
)
await cli(['customer', 'add', '--email', 'office@example.com', '--api', '--operator', '--password-stdin'], prepared)
const { key } = await cli(['key', 'issue', '--customer', id, '--label', 'erp'], prepared)

const hasCurl = spawnSync('curl', ['--version']).status === 0
if (!hasCurl) console.info('examples/follow.sh is not run: curl is not installed')

const followers = [
  ['follower.js', process.execPath, payloadsOfTable],
  ...(hasCurl ? [['follow.sh', 'sh', payloadsOfLines] as const] : []),
] as const

it.each(followers)(
  'examples/%s loses and repeats nothing, killed at any moment',
  async (file, program, payloads) => {
    const cwd = tempFolder()
    cpSync(join(prepared, 'data'), join(cwd, 'data'), { recursive: true })
    const { url } = await serve({ cwd, env })
    const path = join(cwd, 'stored')
    let follower: ChildProcess | undefined
    const follow = (...more: string[]): void => {
      const variables = {
        PATH: process.env.PATH,
        TESLIM_URL: url,
        TESLIM_EMAIL: 'office@example.com',
        TESLIM_PASSWORD: PASSWORD,
      }
      // A group of its own, so that what a shell has started ends with it.
      follower = spawn(program, [join(EXAMPLES, file), path, ...more], {
        env: variables,
        stdio: 'ignore',
        detached: true,
      })
    }
    const kill = async (): Promise<void> => {
      const ended = once(follower as ChildProcess, 'exit')
      process.kill(-Number(follower?.pid), 'SIGKILL')
      await ended
    }
    onTestFinished(kill)

    const sent: string[] = []
    const deliver = async (count: number): Promise<void> => {
      for (const end = sent.length + count; sent.length < end; ) {
        const body = `{"OrderID":"PO-${sent.length}","Status":1,"Total":12345678901234567890}`
        sent.push(body)
        const answer = await fetch(`${url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key }, body })
        expect(answer.status).toBe(200)
      }
    }
    // Seen by its file's time: a reader of the table would keep the follower from writing.
    const changedAt = (): bigint | undefined => statSync(path, { bigint: true, throwIfNoEntry: false })?.mtimeNs
    const untilItWrites = async (): Promise<void> => {
      const before = changedAt()
      await until('the follower writes', () => changedAt() !== before)
    }
    for (let kills = 0; kills < KILLS; kills++) {
      await deliver(BETWEEN_KILLS)
      follow()
      // It is killed as soon as it has started, as it begins to write, or as it writes what comes in meanwhile.
      if (kills > 0) await untilItWrites()
      const supplier = deliver(BETWEEN_KILLS)
      if (kills > KILLS / 2) await untilItWrites()
      await kill()
      await supplier
    }
    await deliver(BETWEEN_KILLS)
    follow()
    await untilItWrites()
    await expect.poll(() => payloads(path).length, { timeout: 20_000, interval: 200 }).toBe(sent.length)
    expect(new Set(payloads(path))).toEqual(new Set(sent))

    await kill()
    await deliver(2)
    const body = '{"OrderID":"PO-0","Status":2}'
    await fetch(`${url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key }, body })
    await fetch(`${url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key }, body: body.replace('2', '3') })
    expect(await cli(['purge', '--older', '0'], cwd)).toMatchObject({ deliveries: 2 })
    const before = readFileSync(path)
    follow()
    expect(await once(follower as ChildProcess, 'exit')).toEqual([1, null])
    expect(readFileSync(path).equals(before)).toBe(true)
    if (file === 'follow.sh') rmSync(path)
    follow('--again')
    const last = (): string[] => (existsSync(path) ? payloads(path) : [])
    await expect.poll(last, { timeout: 20_000, interval: 200 }).toContain('{"OrderID":"PO-0","Status":3}')
    expect(last()).toEqual(expect.arrayContaining(sent.slice(1)))
  },
  60_000,
)

it.each(followers)('examples/%s says why it is not let in', async (file, program) => {
  const cwd = tempFolder()
  cpSync(join(prepared, 'data'), join(cwd, 'data'), { recursive: true })
  const { url } = await serve({ cwd, env })
  const variables = {
    PATH: process.env.PATH,
    TESLIM_URL: url,
    TESLIM_EMAIL: 'office@example.com',
    TESLIM_PASSWORD: 'no',
  }
  const follower = spawn(program, [join(EXAMPLES, file), join(cwd, 'stored')], { env: variables, detached: true })
  onTestFinished(() => void process.kill(-(follower.pid ?? 0), 'SIGKILL'))
  let said = ''
  follower.stderr.setEncoding('utf8').on('data', (part) => (said += part))
  await expect.poll(() => said, { timeout: 20_000, interval: 100 }).toContain('LOGIN_REFUSED')
})

import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { fetch } from '../app/checked-fetch.ts'
import { freePort } from '../postgres/postgres-server.ts'
import { runPrepared } from '../processes/prepared-commands.ts'
import { type RunOptions, serve } from '../processes/process.ts'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'
import { type Example, type Running, startExample } from './programs.ts'

const PASSWORD = 'correct "horse" \\ battery staple'
const OFFICE = 'office@example.com'

export async function cli(args: readonly string[], where: RunOptions) {
  const { status, stdout, stderr } = await runPrepared([...args, '--json'], { ...where, stdin: PASSWORD })
  expect([args, status, stderr]).toEqual([args, 0, expect.any(String)])
  return JSON.parse(stdout)
}

/** Two suppliers and an operator. */
async function addAccounts(where: RunOptions) {
  const add = (email: string, ...flags: string[]) =>
    cli(['customer', 'add', '--email', email, '--password-stdin', ...flags], where)
  const addSupplier = async (email: string): Promise<{ id: string; key: string }> => {
    const { id } = await add(email, '--allow', '*')
    const { key } = await cli(['key', 'issue', '--customer', id], where)
    return { id, key }
  }
  await add(OFFICE, '--api', '--operator')
  return { one: await addSupplier('one@example.com'), other: await addSupplier('other@example.com') }
}

const prepared = { cwd: tempFolder(), env: { NODE_ENV: 'production' } }
const accounts = await addAccounts(prepared)

/** A server that starts again at its address, and an example that reads from it. */
export async function site(example: Example, databaseUrl?: string) {
  const cwd = tempFolder()
  const [port, receiverPort] = [await freePort(), await freePort()]
  const env = {
    NODE_ENV: 'production',
    PORT: String(port),
    TESLIM_WEBHOOK_ALLOW: `127.0.0.1:${receiverPort}`,
    ...(databaseUrl && { DATABASE_URL: databaseUrl }),
  }
  const where = { cwd, env }
  if (databaseUrl === undefined) cpSync(join(prepared.cwd, 'data'), join(cwd, 'data'), { recursive: true })
  const { one, other } = databaseUrl === undefined ? accounts : await addAccounts(where)
  const added = example.goOn
    ? undefined
    : await cli(['webhook', 'add', '--url', `http://127.0.0.1:${receiverPort}/`], where)
  const variables = added
    ? { WEBHOOK_SECRET: added.Secret as string }
    : { TESLIM_URL: `http://127.0.0.1:${port}`, TESLIM_EMAIL: OFFICE, TESLIM_PASSWORD: PASSWORD }
  const place = join(tempFolder(), 'stored')
  const held = () => example.payloads(place)
  let server = await serve(where)
  let running: Running | undefined
  const sent = new Map<string, string>()
  const deliver = async ({ key }: { key: string }, OrderID: string, Status: number): Promise<string> => {
    // A number that programs may round.
    const body = `{"OrderID":"${OrderID}","Status":${Status},"Total":12345678901234567890,"n":${sent.size}}`
    const answer = await fetch(`${server.url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key }, body })
    expect(answer.status).toBe(200)
    const { ReceiptID } = ((await answer.json()) as { data: { ReceiptID: string } }).data
    sent.set(ReceiptID, body)
    return ReceiptID
  }
  /** The cursor after so many deliveries. */
  const cursorAfter = async (limit: number): Promise<string> => {
    const login = await fetch(`${server.url}/Login/Customer/Api/Verify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ Email: OFFICE, Password: PASSWORD }),
    })
    const { Token } = ((await login.json()) as { data: { Token: string } }).data
    const headers = { authorization: `Bearer ${Token}` }
    const answer = await fetch(`${server.url}/Purchase/feed?limit=${limit}`, { headers })
    return ((await answer.json()) as { data: { NextCursor: string } }).data.NextCursor
  }
  return {
    where,
    one,
    other,
    deliver,
    sent,
    held,
    states: () => example.states(place),
    process: () => example.process?.(place),
    start(more: readonly string[] = [], env = {}): Running {
      running = startExample(example, place, { port: receiverPort, env: { ...variables, ...env }, more })
      return running
    },
    goOn: (cursor?: string) => example.goOn?.(place, cursor) ?? [],
    /** Fails with what the example has said. */
    async untilAllArrived(): Promise<void> {
      const hasAll = () => [...sent.keys()].every((receipt) => held().has(receipt))
      await until('everything has arrived', hasAll).catch((error) => {
        throw new Error(running?.said(), { cause: error })
      })
    },
    cursorAfter,
    cursor: () => example.cursor?.(place),
    /** A follower may be killed then, and has the cursor of what came last. */
    async untilCaughtUp(): Promise<void> {
      const last = await cursorAfter(1000)
      await until('it has caught up', () => example.cursor?.(place) === last)
    },
    /** Stops the server, and starts it again when the work is done. */
    async meanwhile(work: () => Promise<unknown>): Promise<void> {
      server.child.kill('SIGTERM')
      await server.ended
      await work()
      if (added) await cli(['webhook', 'resume', added.Endpoint.EndpointID], where)
      server = await serve(where)
    },
  }
}

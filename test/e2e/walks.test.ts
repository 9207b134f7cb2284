import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { COUNTED, countCalls } from '../support/processes/coverage.ts'
import { CHECKOUT, type SandboxServer, serveSandbox } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const PAGE = readFileSync(new URL('../../CONTRIBUTING.md', import.meta.url), 'utf8')
const STEP = /^\d+\. `([^`]+)`/gm

/** A walk ends where the store or another thread begins. On a slow machine timers run as often as requests. */
const isBeyond = (file: string): boolean =>
  /^src\/(?:store\/|lib\/batcher\.ts$|lib\/worker\/|lib\/time\/every\.ts$|http\/connections\/loop-delay\.ts$|purchase\/stats\/roll-ups\.ts$|webhook\/push\/holding\.ts$)/.test(
    file,
  )

/** The files of a walk, as the page lists them. */
function listed(title: string): string[] {
  const [, text = ''] = PAGE.split(`\n### ${title}\n`)
  return Array.from((text.split('\n#')[0] ?? '').matchAll(STEP), ([, file = '']) => file)
}

/** Other timers run less often while so many requests are answered one after the other. */
const REQUESTS = 20

let sandbox: SandboxServer
let calls: Awaited<ReturnType<typeof countCalls>>
beforeAll(async () => {
  // A password that was verified a moment ago is not hashed again.
  const options = { cwd: tempFolder(), env: { TESLIM_LOGIN_MEMORY: '0' }, node: COUNTED, program: CHECKOUT }
  sandbox = await serveSandbox(options)
  calls = await countCalls(sandbox.server)
})
afterAll(() => calls.close())

async function send(path: string, init: RequestInit) {
  const answer = await fetch(`${sandbox.server.url}${path}`, init)
  const body = (await answer.json()) as { readonly data: Record<string, unknown> }
  expect(answer.status, JSON.stringify(body)).toBe(200)
  return body
}

const deliver = (number: number) =>
  send('/Purchase/update', {
    method: 'POST',
    headers: { ApiKey: sandbox.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ PurchaseOrderID: `PO-${number}`, ProductID: 'SKU-1', Status: 1 }),
  })

const logIn = () =>
  send('/Login/Customer/Api/Verify', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ Email: sandbox.email, Password: sandbox.password, callbackData: 'mine' }),
  })

async function reading(): Promise<() => Promise<unknown>> {
  for (let number = 0; number < 10; number++) await deliver(number)
  const { data } = await logIn()
  return () => send('/Purchase/feed?limit=10', { headers: { authorization: `Bearer ${data.Token}` } })
}

it.each([
  ['A delivery', 22, async () => deliver],
  ['A login', 32, async () => logIn],
  ['A page of the feed', 28, reading],
] as const)('%s passes the files that CONTRIBUTING.md lists, at most %i', async (title, most, prepare) => {
  const ask = await prepare()
  await ask(0)
  await calls.take()
  // One more, because what follows the last answer may not have run yet.
  for (let number = 0; number <= REQUESTS; number++) await ask(number + 1)
  const counts = [...(await calls.take())].filter(([file, count]) => file.startsWith('src/') && count >= REQUESTS)
  const passed = counts.map(([file]) => file).filter((file) => !isBeyond(file))
  const list = listed(title)
  expect({
    notListed: passed.filter((file) => !list.includes(file)),
    notPassed: list.filter((file) => !passed.includes(file)),
  }).toEqual({ notListed: [], notPassed: [] })
  expect(list.length).toBeLessThanOrEqual(most)
})

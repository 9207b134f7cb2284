import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Browser, chromium, type Page } from 'playwright-core'
import { BROWSERS, browserPath } from '../test/support/browser/browser-path.ts'
import { listenAllowed, WEBHOOK_ALLOW } from '../test/support/network/allowed-ports.ts'

// npm run screenshots: every view of the console, in both languages and themes and on a phone, into coverage/screenshots, and
// those that the documents show into docs/images.

const root = join(import.meta.dirname, '..')
const everything = join(root, 'coverage/screenshots')
const shown = join(root, 'docs/images')
const main = join(root, 'bin/teslim.js')
const PASSWORD = 'a password for screenshots'
const OPERATOR = 'operator@example.com'

/** The views by the name of their picture. `IN_DOCS` are those of the documents. */
const VIEWS: Readonly<Record<string, (made: Made) => string>> = {
  now: () => '#/now',
  deliveries: () => '#/deliveries',
  delivery: ({ receipt }) => `#/delivery/${receipt}`,
  orders: () => '#/orders',
  order: ({ customer, order }) => `#/order/${customer}/${order}`,
  customers: () => '#/customers',
  customer: ({ customer }) => `#/customer/${customer}`,
  refusals: () => '#/refusals',
  webhooks: () => '#/webhooks',
  webhook: ({ endpoint }) => `#/webhook/${endpoint}`,
  audit: () => '#/audit',
  health: () => '#/health',
}
const IN_DOCS = ['now', 'order', 'webhook']

interface Made {
  readonly customer: string
  readonly order: string
  readonly receipt: string
  readonly endpoint: string
}

interface Look {
  readonly name: string
  readonly locale: string
  readonly colorScheme: 'light' | 'dark'
  readonly viewport: { readonly width: number; readonly height: number }
}

const DESK = { width: 1280, height: 800 }
const LOOKS: readonly Look[] = [
  { name: 'en-light', locale: 'en-GB', colorScheme: 'light', viewport: DESK },
  { name: 'tr-dark', locale: 'tr-TR', colorScheme: 'dark', viewport: DESK },
  { name: 'en-phone', locale: 'en-GB', colorScheme: 'light', viewport: { width: 390, height: 844 } },
]

const folder = mkdtempSync(join(tmpdir(), 'teslim-screenshots-'))
const env = {
  PATH: process.env.PATH,
  NODE_ENV: 'production',
  TESLIM_KEEP_REFUSED: 'known',
  ...WEBHOOK_ALLOW,
  TESLIM_OPS_PORT: '0',
  PORT: '0',
}

interface Printed {
  readonly id: string
  readonly key: string
  readonly Endpoint: { readonly EndpointID: string }
}

/** Runs a command on the store of the screenshots. */
function teslim(args: readonly string[], input = ''): Printed {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args, '--json'], { cwd: folder, env, input })
  if (status !== 0) throw new Error(`teslim ${args.join(' ')}: ${stderr}`)
  return JSON.parse(String(stdout))
}

const add = (email: string, ...more: string[]): string =>
  teslim(['customer', 'add', '--email', email, '--api', '--region', 'TR', '--password-stdin', ...more], PASSWORD).id

/** A back office that never takes some of the orders. Returns its URL. */
async function receive(): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    response.statusCode = body.includes('"OrderID":"PO-4704"') ? 500 : 204
    response.end(response.statusCode === 500 ? '{"error":"unknown article SKU-4"}\n' : '')
  })
  return `http://127.0.0.1:${await listenAllowed(server.unref())}/webhooks`
}

/** Delivers orders that go through their Status values, some echoes, and some that are refused. */
async function deliverOrders(url: string, keys: readonly string[]): Promise<string> {
  let receipt = ''
  const deliver = async (key: string, order: number, status: number, quantity: number): Promise<void> => {
    const products = [
      { Sku: `SKU-${order % 7}`, Qty: quantity },
      { Sku: 'SKU-1', Qty: 1 },
    ]
    const body = JSON.stringify({
      OrderID: `PO-${4700 + order}`,
      Status: status,
      Products: products,
      Note: 'Kapıda teslim',
    })
    const answer = await fetch(`${url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key }, body })
    const { data } = (await answer.json()) as { data: { ReceiptID: string } | null }
    receipt = data?.ReceiptID ?? receipt
  }
  for (let order = 0; order < 60; order++) {
    const key = keys[order % keys.length] ?? ''
    for (const status of [1, 2, 2, 3, 0].slice(0, 1 + (order % 5))) await deliver(key, order, status, status + 1)
    if (order % 9 === 0) await deliver(key, order, 7, 1)
  }
  return receipt
}

const PAUSE_MILLISECONDS = 100
const SENDING_MILLISECONDS = 5000

/** Goes to another view and waits until it has loaded all of its parts. */
async function openView(page: Page, address: string): Promise<void> {
  const before = await page.title()
  await page.evaluate(`location.hash = ${JSON.stringify(address)}`)
  const isLoading = async (): Promise<boolean> =>
    (await page.title()) === before || (await page.locator('main :is([aria-busy=true], .skeleton)').count()) > 0
  // One part may load another, and names of customers follow their rows.
  for (let quiet = 0; quiet < 5; quiet = (await isLoading()) ? 0 : quiet + 1) await sleep(PAUSE_MILLISECONDS)
}

async function photograph(browser: Browser, url: string, made: Made, { name, ...look }: Look): Promise<void> {
  const page = await browser.newPage(look)
  // Not the first one that is photographed, because each is waited for.
  await page.goto(`${url}/console#/health`)
  await page.locator('input[name=email]').fill(OPERATOR)
  await page.screenshot({ path: join(everything, `sign-in-${name}.png`) })
  await page.locator('input[name=password]').fill(PASSWORD)
  await page.locator('form button').click()
  await page.locator('header.top').waitFor()
  await page.mouse.move(0, 0)
  for (const [view, addressOf] of Object.entries(VIEWS)) {
    await openView(page, addressOf(made))
    await page.screenshot({ path: join(everything, `${view}-${name}.png`) })
    if (name === LOOKS[0]?.name && IN_DOCS.includes(view))
      await page.screenshot({ path: join(shown, `console-${view}.png`) })
  }
  await page.close()
}

async function run(executablePath: string): Promise<void> {
  mkdirSync(everything, { recursive: true })
  add(OPERATOR, '--operator')
  const customers = ['shop@example.com', 'kitap@example.com'].map((email) => add(email, '--allow', 'SKU-*'))
  const keys = customers.map((customer) => teslim(['key', 'issue', '--customer', customer, '--label', 'erp']).key)
  const backOffice = await receive()
  const [endpoint = '', paused = ''] = [[], ['--status', '0,3', '--give-up', '3d'], ['--no-duplicates']].map(
    (options, index) =>
      teslim(['webhook', 'add', '--url', `${backOffice}/${index + 1}`, ...options]).Endpoint.EndpointID,
  )
  teslim(['webhook', 'pause', paused])
  const server = spawn(process.execPath, [main, 'serve'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(server, 'exit')
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    const url = await addressOf(server.stdout)
    const receipt = await deliverOrders(url, keys)
    // The beginning of the answers, and some pauses.
    await sleep(SENDING_MILLISECONDS)
    const made = { endpoint, customer: customers[1] ?? '', order: 'PO-4759', receipt }
    for (const look of LOOKS) await photograph(browser, url, made, look)
    console.log(`${Object.keys(VIEWS).length * LOOKS.length} screenshots are in ${everything}`)
  } finally {
    await browser.close()
    server.kill('SIGTERM')
    await ended
  }
}

async function addressOf(output: AsyncIterable<Buffer>): Promise<string> {
  let printed = ''
  for await (const chunk of output) {
    printed += String(chunk)
    const [, url] = /listening on (http:[^"]+)"/.exec(printed) ?? []
    if (url !== undefined) return url
  }
  throw new Error(`the server ended: ${printed}`)
}

try {
  if (browserPath === undefined) throw new Error(`none of ${BROWSERS.join(', ')} is on the PATH`)
  await run(browserPath)
} catch (error) {
  console.error(`no screenshots: ${error instanceof Error ? error.message : error}`)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}

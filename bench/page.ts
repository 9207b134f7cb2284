import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { BROWSERS, browserPath } from '../test/support/browser/browser-path.ts'
import { percentile } from './open-loop.ts'
import type { BenchOptions } from './options.ts'
import { median, printTable, say } from './report.ts'
import { syncDisk } from './server-process.ts'
import { cli, EMAIL, prepareTeslim, startTeslim } from './teslim-server.ts'

const ROWS = 10_000
const LATENCY_MILLISECONDS = 300
const AT_ONCE = 100
/** Standing still, which shows what the machine can do, then two rows a frame and ten. */
const SPEEDS = [0, 68, 340]
const FRAME_MILLISECONDS = 1000 / 60

/** How soon the console is seen, and how smoothly 10,000 deliveries scroll, in a browser of this machine. */
export async function benchPage({ folder, databaseUrl, rounds, seconds }: BenchOptions): Promise<void> {
  if (browserPath === undefined) throw new Error(`none of ${BROWSERS.join(', ')} is on the PATH`)
  const { apiKey, password } = await prepareTeslim(databaseUrl)
  await cli(databaseUrl, ['customer', 'set', EMAIL, '--operator', 'yes'])
  const teslim = await startTeslim(folder, databaseUrl)
  const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    await deliverRows(teslim.url, apiKey)
    await syncDisk()
    await measureFirstView(browser, teslim.url, password, rounds)
    await measureReload(browser, teslim.url, password, rounds)
    await measureScrolling(browser, teslim.url, password, seconds)
  } finally {
    await browser.close()
    await teslim.stop()
  }
}

async function deliverRows(url: string, apikey: string): Promise<void> {
  for (let done = 0; done < ROWS; done += AT_ONCE) {
    const some = Array.from({ length: AT_ONCE }, (_, number) =>
      JSON.stringify({ OrderID: `PO-${done + number}`, Status: number % 4, Products: [{ Sku: 'SKU-1', Quantity: 1 }] }),
    )
    await Promise.all(
      some.map((body) => fetch(`${url}/Purchase/update`, { method: 'POST', headers: { apikey }, body })),
    )
  }
}

/** A context of its own has an empty cache. */
const newContext = (browser: Browser): Promise<BrowserContext> =>
  browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' })

async function signIn(page: Page, password: string): Promise<void> {
  await page.locator('input[name=email]').fill(EMAIL)
  await page.locator('input[name=password]').fill(password)
  await page.locator('form button').click()
}

async function measureFirstView(browser: Browser, url: string, password: string, rounds: number): Promise<void> {
  const times: Record<'form' | 'view', number[]> = { form: [], view: [] }
  for (let round = 0; round < 4 * rounds; round++) {
    const context = await newContext(browser)
    const page = await context.newPage()
    await page.addInitScript(`globalThis.firstSeen = ${firstSeen}`)
    await page.goto(`${url}/console#/deliveries`)
    times.form.push(Number(await page.evaluate("firstSeen('input[name=email]')")))
    const seen = page.evaluate("firstSeen('tr.row')")
    await signIn(page, password)
    times.view.push(Number(await seen) - Number(await page.evaluate(LOGIN_ANSWERED)))
    await context.close()
  }
  say(`first view with a cold cache, ${4 * rounds} times`)
  printTable(
    ['', 'median ms', 'longest ms'],
    [
      ['the form to sign in, from the request to its paint', ...shown(times.form)],
      ['the deliveries, from the answer to the login to the first row', ...shown(times.view)],
    ],
  )
  say('aim: under 500 ms')
}

/** A reload by somebody who is signed in, far away: the HTML is asked for, then a token, then the rows. */
async function measureReload(browser: Browser, url: string, password: string, rounds: number): Promise<void> {
  const context = await newContext(browser)
  const page = await context.newPage()
  await page.goto(`${url}/console#/deliveries`)
  await signIn(page, password)
  await page.locator('tr.row').first().waitFor()
  const network = await context.newCDPSession(page)
  const far = { offline: false, latency: LATENCY_MILLISECONDS, downloadThroughput: -1, uploadThroughput: -1 }
  await network.send('Network.emulateNetworkConditions', far)
  await page.addInitScript(`globalThis.firstSeen = ${firstSeen}`)
  const times: Record<'frame' | 'rows', number[]> = { frame: [], rows: [] }
  for (let round = 0; round < 4 * rounds; round++) {
    await page.reload()
    times.frame.push(Number(await page.evaluate("firstSeen('header.top')")))
    times.rows.push(Number(await page.evaluate("firstSeen('tr.row')")))
  }
  await context.close()
  say(`\nreload with a warm cache at ${LATENCY_MILLISECONDS} ms latency, ${4 * rounds} times`)
  printTable(
    ['', 'median ms', 'longest ms'],
    [
      ['the console, from the request to its paint', ...shown(times.frame)],
      ['the first row', ...shown(times.rows)],
    ],
  )
  say('aim: the console under 800 ms; the rows take one more round trip')
}

const shown = (times: readonly number[]): string[] => [median(times).toFixed(0), Math.max(...times).toFixed(0)]

const LOGIN_ANSWERED =
  "performance.getEntriesByType('resource').findLast(({ name }) => name.endsWith('/console/session')).responseEnd"

async function measureScrolling(browser: Browser, url: string, password: string, seconds: number): Promise<void> {
  const context = await newContext(browser)
  const page = await context.newPage()
  await page.goto(`${url}/console#/deliveries`)
  await signIn(page, password)
  await page.locator('tr.row').first().waitFor()
  const loaded = Number(await page.evaluate(`(${loadAll})(${ROWS})`))
  if (loaded < ROWS) throw new Error(`${loaded} of ${ROWS} rows were loaded`)
  const rows: string[][] = []
  for (const speed of SPEEDS) {
    const frames = (await page.evaluate(`(${scroll})(${speed}, ${seconds * 1000})`)) as number[]
    const total = frames.reduce((sum, each) => sum + each, 0)
    rows.push([
      String(speed),
      ((frames.length / total) * 1000).toFixed(1),
      ...[50, 95, 99].map((percent) => percentile(frames, percent).toFixed(1)),
      String(frames.filter((each) => each > 1.5 * FRAME_MILLISECONDS).length),
    ])
  }
  say(`\nscrolling ${ROWS} rows, ${seconds} s each`)
  printTable(['pixels a frame', 'frames/s', 'p50 ms', 'p95 ms', 'p99 ms', 'frames missed'], rows)
  say('aim: 60 frames a second')
  await context.close()
}

/** These run in the page. When something was in a frame for the first time, in milliseconds since the request for the page. */
const firstSeen = `async (selector) => {
  while (document.querySelector(selector) === null) await new Promise(requestAnimationFrame)
  await new Promise(requestAnimationFrame)
  return performance.now()
}`
const loadAll = `async (most) => {
  const box = document.scrollingElement
  const loaded = () => Number(document.querySelector('.rows-foot .note').textContent.replace(/\\D/g, ''))
  for (let turn = 0; turn < 3000 && loaded() < most; turn++) {
    box.scrollTop = box.scrollHeight
    await new Promise(requestAnimationFrame)
  }
  box.scrollTop = 0
  return loaded()
}`
const scroll = `async (pixels, milliseconds) => {
  const box = document.scrollingElement
  const frames = []
  let speed = pixels
  let last = await new Promise(requestAnimationFrame)
  const end = last + milliseconds
  while (last < end) {
    box.scrollTop += speed
    if (box.scrollTop <= 0 || box.scrollTop + box.clientHeight >= box.scrollHeight - 1) speed = -speed
    const now = await new Promise(requestAnimationFrame)
    frames.push(now - last)
    last = now
  }
  return frames
}`

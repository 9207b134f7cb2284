import { availableParallelism, loadavg } from 'node:os'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll } from 'vitest'
import { BROWSERS, browserPath } from './browser-path.ts'

if (browserPath === undefined)
  console.warn(`the tests in a browser are skipped: none of ${BROWSERS.join(', ')} is on the PATH`)

export const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

let started: Promise<Browser> | undefined

/** The browser of this worker, which ends with it: the files that run in it share one. Its pages are closed at the end of each file. */
export async function startBrowser(executablePath: string): Promise<Browser> {
  started ??= chromium.launch({ executablePath, args: ARGUMENTS, timeout: 120_000 })
  const browser = await started
  afterAll(async () => {
    await Promise.all(browser.contexts().map((context) => context.close()))
  })
  return browser
}

/** What was copied last. The pages of teslim may not read it, so another page of their origin does. */
export async function copiedIn(page: Page): Promise<string> {
  const other = await page.context().newPage()
  await other.goto(new URL('/livez', page.url()).href)
  const text = String(await other.evaluate('navigator.clipboard.readText()'))
  await other.close()
  return text
}

/** A page that is loaded again, or a view that is left, aborts what it still loads. */
const ABORTED = [
  'fetch net::ERR_ABORTED',
  'script net::ERR_ABORTED',
  'image net::ERR_ABORTED',
  'fetch NS_BINDING_ABORTED',
]

/** Collects whatever a page must not do, from its last load on. */
export function watchPage(page: Page) {
  const watched = { origin: '', complaints: [] as string[] }
  const complain = (complaint: string): void => void watched.complaints.push(complaint)
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return
    // What was refused with 503 is judged by its code, below.
    const isRefusal = message.text().includes('status of 503')
    if (!isRefusal) complain(`console: ${message.text()} (${message.location().url})`)
  })
  page.on('response', async (answer) => {
    if (answer.status() !== 503) return
    const body = await answer.text().catch(() => '')
    // Where other programs keep the machine busy, the server may refuse for a moment. The page asks again, or shows it, and each test
    // checks what is shown.
    const isBusy = (loadavg()[0] ?? 0) > availableParallelism()
    const isForAMoment = isBusy && /"errorCode":"(?:OVERLOADED|STORE_UNAVAILABLE)"/.test(body)
    if (!isForAMoment) complain(`503: ${answer.url()} ${body}`)
  })
  page.on('pageerror', (error) => complain(`error: ${error.message}`))
  page.on('requestfailed', (request) => {
    const reason = `${request.resourceType()} ${request.failure()?.errorText}`
    // On a busy machine Chromium reports this for one in thirty fetches whose answers the page has read whole. A fetch that is
    // really aborted shows no answer, and each test checks the answer.
    if (!ABORTED.includes(reason)) complain(`failed: ${request.url()} ${reason}`)
  })
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url())
    if (protocol !== 'data:' && origin !== watched.origin) complain(`elsewhere: ${request.url()}`)
  })
  return watched
}

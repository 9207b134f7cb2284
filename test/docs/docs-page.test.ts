import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { browserPath, startBrowser } from '../support/browser.ts'
import { failure } from '../support/failure.ts'
import { serveSandbox } from '../support/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { testApp } from '../support/test-app.ts'

const artefacts = fileURLToPath(new URL('../../coverage/', import.meta.url))
const PATIENCE = 120_000

describe('the API reference page', async () => {
  const { app } = await testApp()

  it('is HTML under a policy that allows nothing inline and nobody else', async () => {
    const answer = await app.inject('/docs/')
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
    const policy = String(answer.headers['content-security-policy'])
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; /)
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(answer.payload).not.toMatch(/<script>|<style|style=|https?:\/\//)
  })

  it.each(['/docs/page.js', '/docs/page.css', '/docs/swagger-ui.js', '/docs/swagger-ui.css'])(
    'loads %s, packed for whoever takes that',
    async (url) => {
      const plain = await app.inject({ url, headers: { 'accept-encoding': 'gzip;q=0, br' } })
      const packed = await app.inject({ url, headers: { 'accept-encoding': 'br, gzip' } })
      expect([plain.statusCode, plain.headers['content-encoding']]).toEqual([200, undefined])
      expect([packed.statusCode, packed.headers['content-encoding']]).toEqual([200, 'gzip'])
      expect(gunzipSync(packed.rawPayload).equals(plain.rawPayload)).toBe(true)
      expect(plain.headers['content-type']).toBe(`text/${url.endsWith('js') ? 'javascript' : 'css'}; charset=utf-8`)
      expect(plain.headers['content-security-policy']).toBe("default-src 'none'; frame-ancestors 'none'")
    },
  )

  it('serves no other file', async () => {
    for (const url of ['/docs/page.ts', '/docs/../package.json', '/docs/%2e%2e/docs.plugin.ts', '/docs/static']) {
      expect((await app.inject(url)).json()).toEqual(failure('NOT_FOUND'))
    }
  })

  it('is not there when it is turned off', async () => {
    const { app: without } = await testApp({ TESLIM_DOCS: 'off' })
    expect((await without.inject('/docs')).json()).toEqual(failure('NOT_FOUND'))
    expect((await without.inject('/docs/page.js')).statusCode).toBe(404)
  })
})

/** Everything that a page must not do, as it happens. */
function watch(page: Page, origin: string): string[] {
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`))
  page.on('requestfailed', (request) => complaints.push(`failed: ${request.url()}`))
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (url.protocol !== 'data:' && url.origin !== origin) complaints.push(`elsewhere: ${url}`)
  })
  return complaints
}

/** What one has to scroll sideways for: elements that end beyond the screen, unless one around them scrolls by itself. */
const TOO_WIDE = `[...document.querySelectorAll('body *')]
  .filter((element) => document.documentElement.scrollWidth > innerWidth && element.getBoundingClientRect().right > innerWidth)
  .map(({ tagName, className, textContent }) => tagName + '.' + className + ': ' + textContent.slice(0, 50))`

const operation = (page: Page, id: string) => page.locator(`.opblock[id$="-${id}"]`)

/** Fills in the body, executes, and gives the status and the body that the page shows. */
async function tryIt(page: Page, id: string, body: object): Promise<[string, unknown]> {
  const block = operation(page, id)
  await block.locator('.opblock-summary-control').click()
  await block.locator('textarea').fill(JSON.stringify(body))
  await block.getByRole('button', { name: 'Execute' }).click()
  const live = block.locator('.live-responses-table .response')
  await live.waitFor()
  const status = await live.locator('.response-col_status').innerText()
  return [status.trim(), JSON.parse(await live.locator('.highlight-code code').first().innerText())]
}

describe.skipIf(browserPath === undefined)('in a browser, the API reference page', () => {
  it('logs in and delivers from the page, without an error, an inline script or another host', {
    timeout: PATIENCE,
  }, async () => {
    const { server, email, password, apiKey } = await serveSandbox({ cwd: tempFolder() })
    const browser = await startBrowser(browserPath ?? '')
    const page = await browser.newPage({ viewport: { width: 1300, height: 900 } })
    page.setDefaultTimeout(PATIENCE)
    const complaints = watch(page, server.url)
    await page.addInitScript(() => {
      const page = globalThis as unknown as { violations: string[] } & EventTarget
      page.violations = []
      page.addEventListener('securitypolicyviolation', (event) => {
        page.violations.push(String((event as unknown as { blockedURI: string }).blockedURI))
      })
    })
    await page.goto(`${server.url}/docs`)
    await operation(page, 'login').waitFor()
    expect(await page.locator('.opblock').count()).toBeGreaterThanOrEqual(6)
    mkdirSync(artefacts, { recursive: true })
    await page.screenshot({ path: `${artefacts}docs.png`, fullPage: true })

    const credentials = { Email: email, Password: password, callbackData: 'from the page' }
    const [loginStatus, login] = await tryIt(page, 'login', credentials)
    expect([loginStatus, login]).toMatchObject(['200', { success: true, data: { callbackData: 'from the page' } }])

    await page.getByRole('button', { name: 'Authorize', exact: true }).first().click()
    const dialog = page.locator('.auth-container', { hasText: 'ApiKey' }).first()
    await dialog.locator('input').fill(apiKey)
    await dialog.getByRole('button', { name: 'Apply credentials' }).click()
    await page.screenshot({ path: `${artefacts}docs-authorize.png` })
    await page.getByRole('button', { name: 'Close' }).first().click()

    const order = { OrderID: 'PO-77', Status: 3, Products: [{ Sku: 'SKU-1' }] }
    const sent = page.waitForRequest((request) => request.url().endsWith('/Purchase/update'))
    const [status, receipt] = await tryIt(page, 'purchaseUpdate', order)
    expect([status, receipt]).toMatchObject(['200', { success: true, data: { OrderID: 'PO-77', Status: 3 } }])
    const { Token } = (login as { data: { Token: string } }).data
    const headers = (await sent).headers()
    expect(headers).toMatchObject({ apikey: apiKey, authorization: `Bearer ${Token}` })
    // An example of one, sent with every trial, would make the second a 422.
    expect(headers).not.toHaveProperty('idempotency-key')
    await page.screenshot({ path: `${artefacts}docs-tried.png`, fullPage: true })

    expect(complaints).toEqual([])
    expect(await page.evaluate('violations')).toEqual([])
  })

  it('fits a narrow dark screen with everything opened, and delivers from it', { timeout: PATIENCE }, async () => {
    const { server, apiKey } = await serveSandbox({ cwd: tempFolder() })
    const browser = await startBrowser(browserPath ?? '')
    const page = await browser.newPage({ viewport: { width: 390, height: 844 }, colorScheme: 'dark' })
    page.setDefaultTimeout(PATIENCE)
    const complaints = watch(page, server.url)
    await page.goto(`${server.url}/docs`)
    await operation(page, 'login').waitFor()
    await page.evaluate(`reference.preauthorizeApiKey('ApiKey', '${apiKey}')`)
    expect(await tryIt(page, 'purchaseUpdate', { OrderID: 'PO-78', Status: 2 })).toMatchObject(['200', {}])
    await page.evaluate(
      "document.querySelectorAll('.opblock:not(.is-open) button[class*=control]').forEach((b) => b.click())",
    )
    await page.waitForFunction(
      "document.querySelectorAll('.opblock .execute').length === document.querySelectorAll('.opblock').length",
    )
    await page.screenshot({ path: `${artefacts}docs-narrow.png`, fullPage: true })
    expect(await page.evaluate(TOO_WIDE)).toEqual([])
    expect(await page.evaluate('document.documentElement.className')).toBe('dark-mode')
    expect(complaints).toEqual([])
  })
})

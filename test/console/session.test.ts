import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { startBrowser } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { openConsole, PASSWORD, signIn, startConsoleServer } from '../support/browser/console.ts'
import { until } from '../support/until.ts'

const PATIENCE = 180_000

const alertOf = (page: Page) => page.getByRole('alert').innerText()
const headingOf = (page: Page) => page.locator('main h1').innerText()
const viewOf = (page: Page): string => new URL(page.url()).hash

/** Sends the form and waits for what it says then. */
async function tryToSignIn(page: Page, email: string, password: string): Promise<string> {
  await page.locator('input[name=email]').fill(email)
  await page.locator('input[name=password]').fill(password)
  await page.locator('form button').click()
  await page.locator('form button:enabled').waitFor()
  return alertOf(page)
}

describe.skipIf(browserPath === undefined)('a session in the console', { timeout: PATIENCE }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await startBrowser(browserPath)
  const { server, operator, readOnly, customer, command } = await startConsoleServer()

  it('begins for an operator with the right password and region only, leads to the view in the address and back to the form', async () => {
    const { page } = await openConsole(browser, server, '#/orders?status=2')
    expect(await tryToSignIn(page, customer.email, PASSWORD)).toBe(
      'Only operators may use the console, and this customer is not one.',
    )
    const refused = 'E-mail, password or region is wrong, or this customer may not log in.'
    expect(await tryToSignIn(page, operator, 'not it')).toBe(refused)
    expect(await page.locator('input[name=email]').inputValue()).toBe(operator)
    await page.getByText('Other region').click()
    await page.getByLabel('Region', { exact: true }).fill('DE')
    expect(await tryToSignIn(page, operator, PASSWORD)).toContain('region is wrong')
    await page.getByLabel('Region', { exact: true }).fill('TR')
    await signIn(page, operator)
    expect(await headingOf(page)).toBe('Orders')
    await page.locator('header.top .menu summary').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    expect(await page.getByRole('status').innerText()).toBe('You have signed out.')
    expect(viewOf(page)).toBe('#/orders?status=2')
  })

  it('has to wait after too many attempts, and says how long', async () => {
    const { page } = await openConsole(browser, server)
    await until(
      'attempts are throttled',
      async () =>
        /^Too many attempts\. Try again in \d+ seconds\.$/.test(
          await tryToSignIn(page, 'nobody@example.com', 'not it'),
        ),
      { milliseconds: PATIENCE / 2 },
    )
  })

  it('says whether it may only read', async () => {
    for (const [email, words] of [
      [operator, 'Operator'],
      [readOnly, 'Read-only operator'],
    ] as const) {
      const { page } = await openConsole(browser, server)
      await signIn(page, email)
      expect(await page.locator('header.top .menu summary').innerText()).toBe(email)
      await page.locator('header.top .menu summary').click()
      expect(await page.locator('.sheet p').innerText()).toBe(words)
      await page.context().close()
    }
  })

  it('does not end early because the clock of the browser is fast', async () => {
    const { page } = await openConsole(browser, server)
    await page.clock.setSystemTime(Date.now() + 48 * 3_600_000)
    await signIn(page, operator)
    await page.goto(`${server.url}/console#/now?range=day`)
    await page.locator('.plot').waitFor()
    expect(await headingOf(page)).toBe('Now')
  })

  it('ends when its tokens are revoked, and continues in the same view', async () => {
    const { page } = await openConsole(browser, server, '#/now?range=month')
    await signIn(page, readOnly)
    await page.locator('.plot').waitFor()
    await command(['token', 'revoke', '--customer', readOnly])
    // Either the live stream or the next request tells.
    await page.evaluate("location.hash = '#/now?range=day'")
    await page.getByRole('status').getByText('Your session has ended.').waitFor()
    await signIn(page, readOnly)
    await page.locator('.plot').waitFor()
    expect(viewOf(page)).toBe('#/now?range=day')
  })

  it('goes back and forward through views and their parameters', async () => {
    const { page } = await openConsole(browser, server)
    await signIn(page, operator)
    await page.getByRole('link', { name: 'Audit' }).click()
    await page.getByRole('link', { name: 'Now' }).click()
    await page.getByRole('link', { name: '30 days' }).click()
    const current = () => page.locator('.ranges [aria-current]').innerText()
    await until('the range is shown', async () => (await current()) === '30 days')
    await page.goBack()
    await until('the live range is shown', async () => (await current()) === '15 minutes')
    await page.goBack()
    expect([await headingOf(page), viewOf(page)]).toEqual(['Audit', '#/audit'])
    await page.goForward()
    await page.goForward()
    await until('the range is shown again', async () => (await current()) === '30 days')
    expect(viewOf(page)).toBe('#/now?range=month')
  })

  it('makes no request to another host, breaks no rule of the policy, logs nothing, and lets no script make HTML from text', async () => {
    const { page, complaints } = await openConsole(browser, server)
    await page.addInitScript(`addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      console.error('violation', violatedDirective, blockedURI))`)
    await page.reload()
    await signIn(page, operator)
    await page.locator('.tile strong:not(:has(.skeleton))').first().waitFor()
    for (const view of ['#/now?range=day', '#/now?range=year', '#/now']) {
      await page.goto(`${server.url}/console${view}`)
      await page.locator('.plot').waitFor()
    }
    expect(complaints).toEqual([])
    const outcome = await page.evaluate(
      `(() => { try { document.body.innerHTML = '<b>text</b>'; return 'made' } catch (error) { return error.name } })()`,
    )
    expect(outcome).toBe('TypeError')
  })
})

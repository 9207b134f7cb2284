import { describe, expect, it } from 'vitest'
import { startBrowser } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { openConsole, signIn, startConsoleServer } from '../support/browser/console.ts'

const PATIENCE = 120_000

describe.skipIf(browserPath === undefined)('signing in to the console', { timeout: PATIENCE }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await startBrowser(browserPath)
  const { server, operator } = await startConsoleServer()

  it('leads to the view in the address, and signing out back to the form', async () => {
    const { page } = await openConsole(browser, server, '#/orders?status=2')
    await signIn(page, operator)
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Orders')
    await page.locator('header.top .menu summary').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    expect(await page.getByRole('status').innerText()).toBe('You have signed out.')
    expect(new URL(page.url()).hash).toBe('#/orders?status=2')
  })
})

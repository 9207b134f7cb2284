import { chromium, type Route } from 'playwright-core'
import { afterAll, describe, expect, it } from 'vitest'
import { ARGUMENTS } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { openConsole, signIn, startConsoleServer } from '../support/browser/console.ts'

const PATIENCE = 120_000

describe.skipIf(browserPath === undefined)('a console without TLS', { timeout: PATIENCE }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await chromium.launch({
    executablePath: browserPath,
    args: [...ARGUMENTS, '--host-resolver-rules=MAP *.teslim.test 127.0.0.1'],
  })
  afterAll(() => browser.close())
  const { server, operator, readOnly, customer, command } = await startConsoleServer()
  const url = server.url.replace(/\/\/[^:]*/, '//console.teslim.test')

  /** Opens the form for a new key, and begins to issue it. */
  const issueKey = async () => {
    const { page } = await openConsole(browser, { url }, `#/customer/${customer.id}`)
    await page.getByText('Without TLS each tab signs in by itself').waitFor()
    await signIn(page, operator)
    const end = async () => {
      await command(['token', 'revoke', '--customer', operator])
      await page.locator('.sign-in input[name=password]').waitFor()
    }
    const begin = async () => {
      await page.getByRole('button', { name: 'Issue key' }).click()
      await page.getByLabel('Label', { exact: true }).fill('half-filled')
      await page.locator('dialog').getByRole('button', { name: 'Issue key' }).click()
    }
    return { page, begin, end }
  }

  it('keeps nothing of a session that has ended for the next one who signs in', async () => {
    const { page, begin, end } = await issueKey()
    await begin()
    const key = await page.locator('dialog .secret code').innerText()
    await end()
    expect(await page.locator('dialog, header.top').count()).toBe(0)
    await signIn(page, readOnly)
    expect(await page.locator('dialog').count()).toBe(0)
    expect(await page.locator('body').innerText()).not.toContain(key)
  })

  it('neither shows nor repeats what somebody did whose session has ended meanwhile', async () => {
    const key = 'tsl_of_the_one_before'
    const answers: ((route: Route) => Promise<void>)[] = [
      (route) => route.fulfill({ json: { success: true, data: { Key: { KeyID: 'a' }, ApiKey: key } } }),
      (route) => route.fulfill({ status: 401, json: { success: false, data: null, errorCode: 'TOKEN_REVOKED' } }),
    ]
    for (const answer of answers) {
      const { page, begin, end } = await issueKey()
      const sent: Route[] = []
      await page.route('**/keys', (route) => void sent.push(route))
      await begin()
      await expect.poll(() => sent).toHaveLength(1)
      await end()
      await signIn(page, readOnly)
      const [first] = sent
      if (first !== undefined) await answer(first)
      await page.evaluate(`window.fetch('/livez').then(() => new Promise(requestAnimationFrame))`)
      expect(sent).toHaveLength(1)
      expect(await page.locator('dialog').count()).toBe(0)
    }
  })
})

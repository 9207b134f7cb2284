import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { startBrowser } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { changeFrames, openConsole, signIn, startConsoleServer } from '../support/browser/console.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import { until } from '../support/until.ts'

const PATIENCE = 180_000
const WAITING = { milliseconds: 60_000 }

const stateOf = (page: Page): Promise<string> => page.locator('button.live').innerText()
const becomes = (page: Page, state: string): Promise<void> =>
  until(`the switch says ${state}`, async () => (await stateOf(page)) === state, WAITING)

/** The deliveries of the last 15 minutes, as the page shows them. */
const counted = async (page: Page): Promise<number> =>
  Number(
    await page
      .locator('.tile', { hasText: /^Deliveries/ })
      .locator('strong')
      .innerText(),
  )

/** Makes the tab visible or hidden, as changing tabs does. */
const setHidden = (page: Page, hidden: boolean): Promise<unknown> =>
  page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} });
    document.dispatchEvent(new Event('visibilitychange'))`)

describe.skipIf(browserPath === undefined)('the live stream in the console', { timeout: PATIENCE }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await startBrowser(browserPath)
  const { server, operator, deliver, command } = await startConsoleServer()
  let delivered = 0
  const deliverSome = async (count: number): Promise<string[]> => {
    const made: string[] = []
    for (let index = 0; index < count; index++) {
      made.push(await deliver({ OrderID: `S-${++delivered}`, Status: delivered % 4 }))
    }
    return made
  }
  const open = async (url = server.url): Promise<Page> => {
    const { page } = await openConsole(browser, { url })
    await signIn(page, operator)
    await becomes(page, 'Live')
    return page
  }
  const allCounted = (page: Page): Promise<void> =>
    until('all deliveries are counted', async () => (await counted(page)) === delivered, WAITING)

  it('begins again after its connection broke, and counts nothing twice', async () => {
    const proxy = await startTcpProxy(server.url)
    const page = await open(proxy.url)
    await deliverSome(2)
    await allCounted(page)
    proxy.break()
    await becomes(page, 'Connection lost')
    await page.getByText('The chart ends at').waitFor()
    await deliverSome(4)
    expect(await counted(page)).toBe(delivered - 4)
    proxy.mend()
    await becomes(page, 'Live')
    await allCounted(page)
    expect(await page.getByText('The chart ends at').count()).toBe(0)
    // Nothing that is in the new beginning comes again.
    await deliverSome(1)
    await allCounted(page)
  })

  it('stands still while the tab is hidden or the switch is off, says so, and then catches up', async () => {
    const page = await open()
    await allCounted(page)
    await setHidden(page, true)
    await becomes(page, 'Paused')
    await deliverSome(3)
    expect(await counted(page)).toBe(delivered - 3)
    await setHidden(page, false)
    await becomes(page, 'Live')
    await allCounted(page)
    const button = page.locator('button.live')
    await button.click()
    expect([await button.innerText(), await button.getAttribute('aria-pressed')]).toEqual(['Paused', 'false'])
    await deliverSome(2)
    // Coming back to the tab does not overrule the switch.
    await setHidden(page, true)
    await setHidden(page, false)
    expect(await stateOf(page)).toBe('Paused')
    expect(await counted(page)).toBe(delivered - 2)
    await button.click()
    await becomes(page, 'Live')
    await allCounted(page)
  })

  it('reaches two tabs of one browser, each with its own connection', async () => {
    const first = await open()
    const second = await first.context().newPage()
    await second.goto(`${server.url}/console`)
    await becomes(second, 'Live')
    await deliverSome(2)
    for (const page of [first, second]) await allCounted(page)
  })

  it('says why there is no chart when it is off from the beginning, or cannot be reached', async () => {
    const page = await open()
    await page.locator('button.live').click()
    await page.locator('header.top .menu summary').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await signIn(page, operator)
    await page.getByText('Live data is paused.').waitFor()
    await page.route('**/Operator/live', (route) => route.abort())
    await page.locator('button.live').click()
    await page.getByText('The live data cannot be read now.').waitFor()
    await page.unroute('**/Operator/live')
    await allCounted(page)
  })

  it('leads to the sign-in when the token is revoked', async () => {
    const page = await open()
    await command(['token', 'revoke', '--customer', operator])
    await page.getByText('Your session has ended.').waitFor()
    expect(await page.locator('button.live').isVisible()).toBe(false)
  })

  it('pauses, and says so, while each new token is refused, too', async () => {
    const page = await open()
    let asked = 0
    await page.route('**/Operator/live', (route) => {
      asked++
      return route.fulfill({ status: 401, json: { success: false, errorCode: 'TOKEN_INVALID' } })
    })
    await page.locator('button.live').click()
    await page.locator('button.live').click()
    await becomes(page, 'Connection lost')
    expect(asked).toBeLessThan(4)
  })

  it('reads the list again when it begins without saying which deliveries there are', async () => {
    const { page } = await openConsole(browser, server, '#/deliveries')
    await signIn(page, operator)
    await becomes(page, 'Live')
    const button = page.locator('button.live')
    await button.click()
    const [receipt] = await deliverSome(1)
    await changeFrames(page, { Newest: [], Skipped: delivered }, 'begin')
    await button.click()
    await page.locator(`tr.row a[href*="#/delivery/${receipt}"]`).first().waitFor({ timeout: 30_000 })
  })
})

import type { Locator, Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { watchPage } from '../support/browser/browser.ts'
import { firefoxPath } from '../support/browser/browser-path.ts'
import { openConsole, PASSWORD, startConsoleServer } from '../support/browser/console.ts'
import { startFirefox } from '../support/browser/firefox.ts'
import { WEBHOOK_ALLOW } from '../support/network/allowed-ports.ts'

const PATIENCE = 120_000
const SOON = { timeout: 30_000 }

/** Presses Tab until an element has the focus, as somebody without a pointer does. */
async function tabTo(page: Page, element: Locator): Promise<void> {
  for (let presses = 0; presses < 100; presses++) {
    if (await element.evaluate((each) => each.matches(':focus'))) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not reach ${element}`)
}

describe.skipIf(firefoxPath === undefined)('in Firefox', { timeout: PATIENCE }, async () => {
  if (firefoxPath === undefined) return it('needs Firefox', () => undefined)
  const browser = await startFirefox(firefoxPath, 'dark')
  const { server, operator, customer, deliver, command } = await startConsoleServer(WEBHOOK_ALLOW)
  const receipt = await deliver({ OrderID: 'PO-1', Status: 2 })
  const { Endpoint } = (await command(['webhook', 'add', '--url', 'http://127.0.0.1:9/'])) as {
    Endpoint: { EndpointID: string }
  }
  const DETAILS = [
    `#/delivery/${receipt}`,
    `#/order/${customer.id}/PO-1`,
    `#/customer/${customer.id}`,
    `#/webhook/${Endpoint.EndpointID}`,
  ]

  /** Signs in by keys only. In a Turkish Firefox nothing comes of playwright-core's `fill`, which looks for an "input" in "ınput". */
  const open = async (view = '', locale = 'en-GB') => {
    const opened = await openConsole(browser, server, view, { locale })
    const { keyboard } = opened.page
    await opened.page.locator('input[name=email]:focus').waitFor()
    await keyboard.type(operator)
    await keyboard.press('Tab')
    await keyboard.type(PASSWORD)
    await keyboard.press('Enter')
    await opened.page.locator('header.top').waitFor()
    return opened
  }

  it('every view of the console opens, in Turkish and in the dark', async () => {
    const { page, complaints } = await open('#/now', 'tr-TR')
    expect(await page.locator('html').getAttribute('lang')).toBe('tr')
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(20, 24, 28)')
    const links = page.locator('nav.views a')
    const inMenu = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href')))
    expect(inMenu.length).toBeGreaterThanOrEqual(8)
    const headings = new Set<string>()
    for (const hash of [...inMenu, ...DETAILS]) {
      await page.goto(`${server.url}/console${hash}`)
      await page.locator('main h1:not(.skeleton)').waitFor()
      await expect.poll(() => page.locator('main .skeleton').count(), SOON).toBe(0)
      headings.add(await page.locator('main h1').innerText())
      expect(await page.locator('main [role=alert]').allInnerTexts()).toEqual([])
    }
    expect(headings.size).toBe(inMenu.length + DETAILS.length)
    expect(complaints).toEqual([])
  })

  it('a list shows what comes in, is as high as its rows, and is read on at its end', async () => {
    for (let order = 0; order < 120; order++) await deliver({ OrderID: `PO-L-${order}`, Status: 1 })
    const { page, complaints } = await open('#/deliveries')
    await page.locator('.rows-foot .note', { hasText: '100 rows' }).waitFor()
    await page.locator('.live.live').waitFor()
    await deliver({ OrderID: 'PO-LIVE', Status: 1 })
    await page.locator('tr.row', { hasText: 'PO-LIVE' }).waitFor()
    const height = () => page.evaluate<number>('document.documentElement.scrollHeight')
    expect(await height()).toBeGreaterThan(100 * 24)
    const atItsEnd = async () => {
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
      return page.getByText('PO-1', { exact: true }).count()
    }
    await expect.poll(atItsEnd, SOON).toBeGreaterThan(0)
    expect(complaints).toEqual([])
  })

  it('a key is issued by the keyboard alone, and delivers', async () => {
    const { page, complaints } = await open(`#/customer/${customer.id}`)
    const dialog = page.locator('dialog')
    await page.getByRole('button', { name: 'Issue key' }).waitFor()
    await tabTo(page, page.getByRole('button', { name: 'Issue key' }))
    await page.keyboard.press('Enter')
    await tabTo(page, dialog.getByLabel('Label', { exact: true }))
    await page.keyboard.type('by keys')
    await page.keyboard.press('Enter')
    const apiKey = await dialog.locator('.secret code').innerText()
    const answer = await fetch(`${server.url}/Purchase/update`, {
      method: 'POST',
      headers: { apikey: apiKey },
      body: '{"Status":1}',
    })
    expect(answer.status).toBe(200)
    await page.keyboard.press('Escape')
    await tabTo(page, dialog.getByRole('button', { name: 'Close anyway' }))
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await page.locator('main').getByText('by keys').first().waitFor()
    expect(complaints).toEqual([])
  })

  it('the reference page logs in by its form', async () => {
    const page = await browser.newPage()
    onTestFinished(() => page.close())
    const watched = watchPage(page)
    watched.origin = server.url
    await page.goto(`${server.url}/docs`)
    const login = page.locator('#login')
    await login.getByLabel('Body', { exact: true }).fill(JSON.stringify({ Email: operator, Password: PASSWORD }))
    await login.getByRole('button', { name: 'Send' }).click()
    await login.getByText(/^200 OK in \d+ ms$/).waitFor()
    expect(watched.complaints).toEqual([])
  })
})

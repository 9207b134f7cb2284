import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { startBrowser } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { filterBy, signedInAt, startConsoleServer } from '../support/browser/console.ts'

const PATIENCE = 120_000
const rows = (page: Page) => page.locator('tr.row')
const orders = (page: Page) => page.locator('tr.row td:first-child')
const scrollTo = (page: Page, top: number) => page.evaluate(`scrollTo(0, ${top})`)
const scrolled = (page: Page) => page.evaluate<number>('scrollY')
const settled = (page: Page, count: number) => page.locator(`.rows-foot .note`, { hasText: `${count} row` }).waitFor()
const body = (orderId: string, status: number, quantity: number) =>
  JSON.stringify({ OrderID: orderId, Status: status, Products: [{ Sku: 'SKU-1', Quantity: quantity }] })

describe.skipIf(browserPath === undefined)('deliveries in the console', { timeout: PATIENCE }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await startBrowser(browserPath)
  const started = await startConsoleServer()
  const { customer, command, deliver } = started
  const open = signedInAt(browser, started)

  it('appear as they arrive, and wait behind a button for those who read further down', async () => {
    for (let i = 0; i < 60; i++) await deliver(body(`PO-LIVE-${i}`, 2, i))
    const { page, complaints } = await open('#/deliveries')
    await orders(page).getByText('PO-LIVE-59', { exact: true }).waitFor()
    await page.locator('.live.live').waitFor()
    await deliver(body('PO-LIVE-NEW', 2, 1))
    await rows(page).first().getByText('PO-LIVE-NEW').waitFor()
    await scrollTo(page, 600)
    const reading = await scrolled(page)
    await deliver(body('PO-LIVE-HELD', 2, 1))
    await page.getByRole('button', { name: '1 new', exact: true }).click()
    await rows(page).first().getByText('PO-LIVE-HELD').waitFor()
    expect([reading, await scrolled(page)]).toEqual([600, 0])
    expect(complaints).toEqual([])
  })

  it('are filtered by the form and by a cell; the filters stand in the address and survive back, forward and reload', async () => {
    await deliver(body('PO-F-1', 1, 1))
    await deliver(body('PO-F-1', 3, 1))
    await deliver(body('PO-F-2', 3, 1))
    const { page, complaints } = await open('#/deliveries?orderId=PO-F-1')
    await settled(page, 2)
    await page.getByRole('button', { name: 'Removed from processing' }).click()
    await settled(page, 1)
    expect(new URL(page.url()).hash).toBe('#/deliveries?orderId=PO-F-1&status=3')
    await filterBy(page, 'Order', 'PO-F-2')
    await orders(page).getByText('PO-F-2').waitFor()
    await page.goBack()
    await orders(page).getByText('PO-F-1').waitFor()
    await page.goBack()
    await settled(page, 2)
    await page.goForward()
    await settled(page, 1)
    await page.locator('.chip', { hasText: 'Status: 3 · Removed from processing' }).waitFor()
    await page.reload()
    await settled(page, 1)
    // What fits the filters arrives, and nothing else.
    await page.locator('.live.live').waitFor()
    await deliver(body('PO-F-2', 3, 2))
    await deliver(body('PO-F-1', 1, 2))
    await deliver(body('PO-F-1', 3, 3))
    await settled(page, 2)
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await rows(page).nth(5).waitFor()
    expect(new URL(page.url()).hash).toBe('#/deliveries')
    expect(complaints).toEqual([])
  })

  it('are found by the key that a customer lost, and by address, and say how far the search went', async () => {
    const { id } = customer
    const issued = (await command(['key', 'issue', '--customer', customer.email, '--label', 'leaked'])) as {
      key: string
      id: string
    }
    await deliver(body('PO-LEAK-1', 2, 1), { apikey: issued.key })
    await deliver(body('PO-LEAK-2', 2, 1), { apikey: issued.key })
    const { page, complaints } = await open(`#/customer/${id}`)
    await page.getByRole('row', { name: 'leaked' }).getByRole('link', { name: 'Its deliveries' }).click()
    await settled(page, 2)
    expect(new URL(page.url()).hash).toBe(`#/deliveries?key=${issued.id}`)
    await rows(page).first().getByText('PO-LEAK-2').waitFor()
    // What comes with the key arrives live, and nothing else.
    await page.locator('.live.live').waitFor()
    await deliver(body('PO-LEAK-OTHER', 2, 1))
    await deliver(body('PO-LEAK-3', 2, 1), { apikey: issued.key })
    await settled(page, 3)
    await rows(page).first().getByRole('button', { name: '127.0.0.1' }).click()
    await settled(page, 3)
    expect(new URL(page.url()).hash).toBe(`#/deliveries?key=${issued.id}&address=127.0.0.1`)
    await filterBy(page, 'Address', '192.0.2.0/24')
    await page.getByText('No results for these filters.').waitFor()
    // A search that goes on says how far it came.
    await page.route('**/Purchase/deliveries?**', async (route) => {
      const scanned = { Scanned: { Positions: 200_000, Of: 5_000_000 } }
      await route.fulfill({
        json: { data: { Deliveries: [], NextCursor: 'c1', ...scanned }, success: true, message: 'OK' },
      })
    })
    await filterBy(page, 'Address', '198.51.100.0/24')
    await page.getByText('Looked at 200,000 of 5,000,000').waitFor()
    await page.getByRole('button', { name: 'Continue' }).waitFor()
    expect(complaints).toEqual([])
  })

  it('with a product are asked for again when something comes in, and not again and again where the server refuses that', async () => {
    await deliver({ OrderID: 'PO-P-1', Status: 2, Products: [{ Sku: 'SKU-RARE' }] })
    const { page } = await open('#/deliveries?product=SKU-RARE')
    await settled(page, 1)
    await page.locator('.live.live').waitFor()
    await deliver({ OrderID: 'PO-P-2', Status: 2, Products: [{ Sku: 'SKU-RARE' }] })
    await settled(page, 2)
    await rows(page).first().getByText('PO-P-2').waitFor()
    await page.clock.install()
    let asked = 0
    const refusal = { success: false, data: null, errorCode: 'FORBIDDEN', message: 'No.' }
    await page.route('**/Purchase/deliveries*', async (route) => {
      await route.fulfill({ status: 403, json: refusal })
      asked++
    })
    await deliver({ OrderID: 'PO-P-3', Status: 2 })
    await expect.poll(() => asked, { timeout: PATIENCE }).toBe(1)
    await page.clock.runFor(5000)
    await page.clock.runFor(5000)
    expect(asked).toBe(1)
    await deliver({ OrderID: 'PO-P-4', Status: 2 })
    await expect.poll(() => asked, { timeout: PATIENCE }).toBe(2)
  })

  it('are walked through by keys, and Enter opens one', async () => {
    const first = await deliver(body('PO-K', 2, 1))
    await deliver(body('PO-K', 2, 2))
    await deliver(body('PO-K', 2, 3))
    const { page } = await open('#/deliveries?orderId=PO-K')
    await settled(page, 3)
    await page.getByRole('region', { name: 'Deliveries' }).focus()
    const focused = () => page.evaluate<string>("document.activeElement.closest('tr')?.getAttribute('aria-rowindex')")
    const walked = []
    for (const key of ['ArrowDown', 'ArrowDown', 'End', 'ArrowUp', 'Home', 'PageDown']) {
      await page.keyboard.press(key)
      walked.push(await focused())
    }
    expect(walked).toEqual(['2', '3', '4', '3', '2', '4'])
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Details' }).waitFor()
    expect(new URL(page.url()).hash).toBe(`#/delivery/${first}`)
  })

  it('are found by their receipt, and a wrong one finds none', async () => {
    const receipt = await deliver(body('PO-R', 2, 1))
    const { page } = await open(`#/deliveries?receipt=${receipt}`)
    await settled(page, 1)
    await filterBy(page, 'Receipt', '01a1fd40-d147-7681-8dbc-9e73fe5b8d5f')
    await page.getByText('No results for these filters.').waitFor()
    await page.locator('.empty').getByRole('button', { name: 'Clear filters' }).click()
    await rows(page).first().waitFor()
    expect(new URL(page.url()).hash).toBe('#/deliveries')
  })

  it('list orders by their state, each once, the newest first, and again when one changes', async () => {
    await deliver(body('PO-FRESH-1', 1, 1))
    await deliver(body('PO-FRESH-2', 1, 1))
    const { page } = await open('#/orders?status=1')
    const first = rows(page).first()
    await first.getByText('PO-FRESH-2').waitFor()
    await page.locator('.live.live').waitFor()
    await deliver(body('PO-FRESH-1', 1, 2))
    await first.getByText('PO-FRESH-1').waitFor()
    expect(await page.getByText('PO-FRESH-1').count()).toBe(1)
    await deliver(body('PO-FRESH-1', 2, 2))
    await first.getByText('PO-FRESH-2').waitFor()
    expect(await page.getByText('PO-FRESH-1').count()).toBe(0)
    await page.getByRole('link', { name: 'PO-FRESH-2' }).click()
    await page.getByRole('heading', { level: 1, name: 'Order PO-FRESH-2' }).waitFor()
  })

  it('are at the same place, with what came in meanwhile, for those who come back from one; opened anew they begin at the top', async () => {
    for (let i = 0; i < 260; i++) await deliver(body(`PO-BACK-${i}`, 2, i))
    const { page } = await open('#/deliveries')
    await rows(page).first().waitFor()
    await page.locator('.live.live').waitFor()
    await scrollTo(page, 100_000)
    await page.getByText('200 rows loaded').first().waitFor()
    await scrollTo(page, 3400)
    const row = page.locator('tr.row', { hasText: 'PO-BACK-160' })
    await row.locator('a').click()
    await page.getByRole('heading', { name: 'Details' }).waitFor()
    await deliver(body('PO-BACK-NEW', 2, 1))
    await page.goBack()
    await row.waitFor()
    expect(await scrolled(page)).toBe(3400)
    await page.getByText('200 rows loaded').first().waitFor()
    await page.getByRole('button', { name: '1 new', exact: true }).click()
    await rows(page).first().getByText('PO-BACK-NEW').waitFor()
    await scrollTo(page, 1000)
    await page.getByRole('link', { name: 'Orders' }).click()
    await page.getByRole('heading', { level: 1, name: 'Orders' }).waitFor()
    await page.getByRole('link', { name: 'Deliveries' }).click()
    await rows(page).first().getByText('PO-BACK-NEW').waitFor()
    expect(await scrolled(page)).toBe(0)
  })

  it('are printed as far as they are loaded, with nothing cut off', async () => {
    for (let i = 0; i < 60; i++) await deliver(body(`PO-PRINT-${i}`, 0, i))
    const { page } = await open('#/deliveries')
    await rows(page).first().waitFor()
    expect(await rows(page).count()).toBeLessThan(60)
    await page.emulateMedia({ media: 'print' })
    await rows(page).nth(59).waitFor()
    // As wide as a sheet of A4.
    await page.setViewportSize({ width: 794, height: 1123 })
    const isCut = `[...document.querySelectorAll('.rows :is(td, .only)')]
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      .map(({ textContent }) => textContent)`
    expect(await page.evaluate(isCut)).toEqual([])
  })
})

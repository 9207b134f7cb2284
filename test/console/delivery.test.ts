import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { copiedIn, startBrowser } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { openConsole, signedInAt, signIn, startConsoleServer } from '../support/browser/console.ts'

const PATIENCE = 120_000
const line = (page: Page, text: string) => page.locator('.payload-row', { hasText: text })
const body = (orderId: string, status: number, quantity: number) =>
  JSON.stringify({ OrderID: orderId, Status: status, Products: [{ Sku: 'SKU-1', Quantity: quantity }] })

describe.skipIf(browserPath === undefined)('one delivery in the console', { timeout: PATIENCE }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await startBrowser(browserPath)
  const started = await startConsoleServer()
  const { server, operator, customer, deliver } = started
  const open = signedInAt(browser, started)

  it('show everything in detail: the exact bytes, copied and downloaded as they were sent', async () => {
    const sent = '{ "OrderID" : "PO-BYTES",\t"Status":2, "a":1.50, "a":12345678901234567890,\r\n "s":"\\u0000 it\'s" }'
    const receipt = await deliver(sent)
    const { page, complaints } = await open(`#/delivery/${receipt}`)
    await line(page, '"a": 12345678901234567890,').waitFor()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download' }).click()
    const file = await download
    expect(file.suggestedFilename()).toBe(`${receipt}.json`)
    expect(readFileSync(await file.path(), 'utf8')).toBe(sent)
    await page.getByText(createHash('sha256').update(sent).digest('hex')).waitFor()
    await page.getByRole('button', { name: 'Copy', exact: true }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await copiedIn(page)).toBe(sent)
    expect(await page.locator('pre.curl').innerText()).toContain(`--data-binary @${receipt}.json`)
    await page.getByRole('button', { name: 'As delivered' }).click()
    await line(page, '{ "OrderID" : "PO-BYTES",⇥"Status":2').waitFor()
    await page.getByRole('searchbox', { name: 'Search in the payload' }).fill("it'S")
    await page.getByText('1 match', { exact: true }).waitFor()
    expect(await page.locator('.payload mark').innerText()).toBe("it's")
    expect(complaints).toEqual([])
  })

  it('show a short body in the command, but never the key', async () => {
    const sent = body('PO-CURL', 2, 7)
    const { page } = await open(`#/delivery/${await deliver(sent)}`)
    const command = await page.locator('pre.curl').innerText()
    expect(command).toContain(`--data-raw '${sent}'`)
    expect(command).toContain('"ApiKey: $KEY"')
    expect(command).not.toContain(customer.apiKey)
  })

  it('show the history of their order beside them, and what changed', async () => {
    const first = await deliver(body('PO-T', 2, 3))
    const second = await deliver(body('PO-T', 1, 4))
    const { page, complaints } = await open(`#/order/${customer.id}/PO-T`)
    const history = page.locator('.timeline li')
    await history.nth(1).waitFor()
    await line(page, '"Quantity": 4').waitFor()
    await page.getByRole('button', { name: 'Changes' }).click()
    const changes = page.getByRole('region', { name: 'Changes' })
    await changes.waitFor()
    expect(await changes.locator('del').allInnerTexts()).toEqual(['  "Status": 2,', '      "Quantity": 3'])
    expect(await changes.locator('ins').allInnerTexts()).toEqual(['  "Status": 1,', '      "Quantity": 4'])
    await history.nth(1).getByRole('link').click()
    await page.getByText(first).waitFor()
    expect(new URL(page.url()).hash).toBe(`#/order/${customer.id}/PO-T?show=changes&delivery=${first}`)
    await page.goBack()
    await page.getByText(second).waitFor()
    await page.locator('.live.live').waitFor()
    await deliver(body('PO-T', 3, 4))
    await history.nth(2).waitFor()
    expect(complaints).toEqual([])
  })

  it('show hostile texts as texts, and draw only the rows that are seen', async () => {
    const orderId = `<img src=x onerror=alert(1)>\u202e${'w'.repeat(120)}`
    const sent = `{"OrderID":${JSON.stringify(orderId)},"Status":2,"w":"${'x'.repeat(100_000)}","s":"<script>\\u0000\\ud800\u2066\u200b"}`
    const receipt = await deliver(sent)
    const { page, complaints } = await open(`#/delivery/${receipt}`)
    await line(page, '"OrderID": "<img src=x').waitFor()
    expect(await page.locator('main img, main script').count()).toBe(0)
    // A megabyte more would not matter: only what is seen is in the document.
    expect(await page.locator('.payload-row').count()).toBeLessThan(120)
    await page.locator('.payload').evaluate((box) => box.scrollTo(0, box.scrollHeight))
    await line(page, '\\u0000\\ud800').waitFor()
    expect(await page.locator('.payload .mark').allInnerTexts()).toEqual(['U+2066', 'U+200B'])
    expect(complaints).toEqual([])
  })

  it('say in words that a payload was erased', async () => {
    const receipt = await deliver(body('PO-ERASED', 2, 1))
    const { page } = await openConsole(browser, server, `#/delivery/${receipt}`)
    const answer = {
      ReceiptID: receipt,
      CustomerID: customer.id,
      Status: 2,
      Duplicate: false,
      ReceivedAt: '2026-11-22T10:00:00.000Z',
      Erased: true,
    }
    await page.route(`**/Purchase/delivery/${receipt}`, (route) =>
      route.fulfill({ json: { data: answer, success: true, message: 'OK' } }),
    )
    await signIn(page, operator)
    await page.getByText('The payload and the order id of this delivery were erased.').waitFor()
  })
})

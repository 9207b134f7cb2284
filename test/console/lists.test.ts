import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { readCsv } from '../support/app/csv.ts'
import { axeSays } from '../support/browser/axe.ts'
import { startBrowser } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { filterBy, signedInAt, startConsoleServer } from '../support/browser/console.ts'

const PATIENCE = 120_000

describe.skipIf(browserPath === undefined)('lists in the console', { timeout: PATIENCE }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await startBrowser(browserPath)
  const started = await startConsoleServer()
  const { server, readOnly, customer, deliver, command } = started
  for (let number = 0; number < 120; number++) await deliver({ OrderID: `ORD-${number}`, Status: number % 4 })

  const open = signedInAt(browser, started)
  const add = async (email: string, ...more: string[]): Promise<string> =>
    ((await command(['customer', 'add', '--email', email, ...more])) as { id: string }).id
  const emails = async (page: Page) => (await page.locator('.rows tr.row td:first-child').allInnerTexts()).map(String)
  const exportAs = (page: Page, format: string) => async () => {
    await page.locator('.export summary').click()
    await page.getByRole('button', { name: format }).click()
  }

  it('are exported as they are filtered, in full, as CSV and as NDJSON', async () => {
    const { page, complaints } = await open('#/deliveries?status=2')
    const saved = async (format: string) => {
      const [download] = await Promise.all([page.waitForEvent('download'), exportAs(page, format)()])
      return { name: download.suggestedFilename(), text: await readFile(await download.path(), 'utf8') }
    }
    const csv = await saved('CSV')
    expect(csv.name).toBe('deliveries.csv')
    const [head = [], ...rows] = readCsv(csv.text.replace('sep=,\r\n', ''))
    expect(rows.map((row) => row[head.indexOf('Status')])).toEqual(Array.from({ length: 30 }, () => '2'))
    await page.getByText('30 rows saved.').waitFor()
    const ndjson = await saved('NDJSON')
    expect(ndjson.name).toBe('deliveries.ndjson')
    expect(ndjson.text.trim().split('\n')).toHaveLength(30)
    for (const view of ['orders', 'refusals', 'customers', 'audit']) {
      await page.goto(`${server.url}/console#/${view}`)
      await page
        .locator('main h1')
        .filter({ hasText: new RegExp(view, 'i') })
        .waitFor()
      expect((await saved('CSV')).text.slice(0, 5)).toBe('sep=,')
    }
    expect(await axeSays(page)).toEqual([])
    const events = (await command(['audit', 'list', '--action', 'data.export'])) as { details: { rows: number } }[]
    expect(events.filter(({ details }) => details.rows === 30)).toHaveLength(2)
    expect(complaints).toEqual([])
  })

  it('whose export breaks off leave no file, and say so', async () => {
    const { page } = await open('#/deliveries')
    await page.route('**/Purchase/deliveries*', (route) =>
      route.request().headers().accept === 'text/csv' ? route.abort() : route.continue(),
    )
    page.on('download', () => expect.unreachable('a part of a file was saved'))
    await exportAs(page, 'CSV')()
    await page.locator('.exporting [role=alert]').waitFor()
  })

  it('take several customers at once, one after the other, and say which were not disabled', async () => {
    const ids: string[] = []
    for (const name of ['a', 'b', 'c']) ids.push(await add(`${name}@several.example`, '--allow', '*'))
    const { page } = await open('#/customers?search=several.example')
    await page.locator('.rows tr.row').nth(2).waitFor()
    const before = await emails(page)
    for (const name of ['a', 'b', 'c'])
      await page.getByRole('checkbox', { name: `Choose ${name}@several.example` }).check()
    await page.getByText('3 chosen').waitFor()
    expect(await axeSays(page)).toEqual([])
    // One of them is removed meanwhile.
    await command(['customer', 'remove', 'b@several.example'])
    await page.locator('.chosen').getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('heading', { name: 'Disable 3 customers?' }).waitFor()
    expect(await axeSays(page)).toEqual([])
    await page.locator('dialog').getByRole('button', { name: 'Disable' }).click()
    await page.getByText('2 of 3 done, 1 not.').waitFor()
    const lines = await page.locator('dialog .several li').allInnerTexts()
    expect(lines.map((line) => line.includes('Done'))).toEqual([true, false, true])
    await page.locator('dialog').getByRole('button', { name: 'Close' }).click()
    // Each stands where it stood.
    expect(await emails(page)).toEqual(before)
    expect(await page.locator('.rows tr.row', { hasText: 'Disabled' }).count()).toBe(2)
    const events = (await command(['audit', 'list', '--action', 'customer.disable'])) as { customerId: string }[]
    expect(new Set(events.map(({ customerId }) => customerId))).toEqual(new Set([ids[0], ids[2]]))
  })

  it('offer nothing to choose to who may change nothing, and never oneself', async () => {
    const { page } = await open('#/customers', { email: readOnly })
    await page.locator('.rows tr.row').first().waitFor()
    expect(await page.getByRole('checkbox').count()).toBe(0)
    const own = await open('#/customers?search=operator@')
    await own.page.locator('.rows tr.row').first().waitFor()
    expect(await own.page.getByRole('checkbox').count()).toBe(0)
  })

  it('take several keys at once, which stay where they are', async () => {
    const id = await add('keys@example.com', '--allow', '*')
    for (const label of ['one', 'two', 'three'])
      await command(['key', 'issue', '--customer', 'keys@example.com', '--label', label])
    const { page } = await open(`#/customer/${id}`)
    const labels = () => page.locator('.key-table th[scope=row] .foreign').allInnerTexts()
    await page.locator('.key-table tbody tr').nth(2).waitFor()
    expect(await labels()).toEqual(['three', 'two', 'one'])
    for (const label of ['three', 'one']) await page.getByRole('checkbox', { name: `Choose ${label}` }).check()
    await page.locator('.chosen').getByRole('button', { name: 'Revoke key' }).click()
    await page.getByRole('heading', { name: 'Revoke 2 API keys?' }).waitFor()
    await page.locator('dialog').getByRole('button', { name: 'Revoke key' }).click()
    await page.locator('dialog').waitFor({ state: 'detached' })
    await expect.poll(() => page.locator('.key-table .badge.failed').count()).toBe(2)
    expect(await labels()).toEqual(['three', 'two', 'one'])
  })

  it('whose filter names nobody offer the customers that may be meant', async () => {
    const { page } = await open()
    for (const view of ['deliveries', 'orders', 'refusals', 'audit']) {
      await page.evaluate(`location.hash = '#/${view}?customer=shop'`)
      const offer = page.locator('main [role=alert]')
      await offer.getByText('No customer is called shop.').waitFor()
      expect(await page.getByText(/Load more|rows loaded|Try again/).count()).toBe(0)
      await offer.getByRole('button', { name: customer.email }).click()
      await expect.poll(() => new URL(page.url()).hash).toBe(`#/${view}?customer=${customer.id}`)
    }
    await page.evaluate("location.hash = '#/deliveries'")
    await filterBy(page, 'Customer', 'nobody at all')
    await page.getByText('none has it in name, note or e-mail address').waitFor()
    expect(await axeSays(page)).toEqual([])
  })

  it('have a search that sends no secret anywhere', async () => {
    const { page } = await open('#/health')
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.url(), request.postData() ?? ''))
    const box = page.getByRole('combobox', { name: 'Search' })
    for (const secret of [customer.apiKey, `ApiKey: ${customer.apiKey}`, 'whsec_abc', 'eyJhbGciOiJFUzI1NiJ9.e30.x']) {
      await box.fill(secret)
      await page.getByText('This looks like an API key, a secret or a token').waitFor()
      await page.keyboard.press('Enter')
    }
    await box.fill('ORD-11')
    await page.locator('.found [role=option]').nth(2).waitFor()
    expect(sent.filter((text) => /tsl_|whsec_|eyJ/.test(text))).toEqual([])
    expect(sent.some((text) => text === '{"Text":"ORD-11"}')).toBe(true)
  })

  it('show a customer with what is done every day first, and what takes away last', async () => {
    const { page } = await open(`#/customer/${customer.id}`)
    await page.locator('.danger-zone').waitFor()
    const buttons = await page.locator('main button:not(.only, .copy)').allInnerTexts()
    expect(buttons.slice(0, 2)).toEqual(['Change name and note', 'Issue key'])
    expect(buttons.slice(-2)).toEqual(['Disable', 'Revoke tokens'])
    expect(await page.locator('main').innerText()).not.toContain(customer.id)
    await page.getByText('More ids').click()
    expect(await page.locator('main').innerText()).toContain(customer.id)
    expect(await axeSays(page)).toEqual([])
  })
})

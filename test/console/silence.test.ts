import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { startBrowser } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { openConsole, signIn, startConsoleServer } from '../support/browser/console.ts'
import { tempFolder } from '../support/temp-folder.ts'

const DAY = 86_400_000

describe.skipIf(browserPath === undefined)('a silent supplier in the console', { timeout: 180_000 }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await startBrowser(browserPath)
  const path = join(tempFolder(), 'teslim.db')
  const started = await startConsoleServer({ DATABASE_URL: `sqlite:${path}`, TESLIM_SILENCE: '24h' })
  const { server, operator, customer, command } = started
  // The clock of the browser is the true one, so the key is made older instead.
  const database = new DatabaseSync(path)
  database.prepare('UPDATE api_key SET created_at = ?').run(Date.now() - 3 * DAY)
  database.close()
  await command(['customer', 'set', customer.email, '--silence', '36h'])

  const open = async (view: string, options = {}) => {
    const { page, complaints } = await openConsole(browser, server, view, options)
    await signIn(page, operator)
    await page.waitForSelector('main h1')
    await expect.poll(() => page.locator('main .skeleton').count(), { timeout: 30_000 }).toBe(0)
    return { page, complaints }
  }

  it('has a badge in the list, and its page says since when and what to do', async () => {
    const { page, complaints } = await open('#/customers')
    const row = page.locator('tr.row', { hasText: customer.email })
    await row.locator('.badge.warning', { hasText: 'Silent' }).waitFor()
    expect(await page.locator('tr.row .badge', { hasText: 'Silent' }).count()).toBe(1)
    await row.locator('a').first().click()
    await page.locator('.attention', { hasText: 'Its keys have not been used for longer than allowed.' }).waitFor()
    const facts = await page.locator('dl.facts').first().innerText()
    expect(facts).toMatch(/Silent since\s+3 days ago/)
    expect(facts).toMatch(/Silent after\s+1\.5 days/)
    expect(complaints).toEqual([])
  })

  it('is a finding of health, in the language of the reader', async () => {
    const { page } = await open('#/health')
    await page.getByText('1 supplier is silent: ').waitFor()
    await page.getByText(`${customer.email} has never delivered in 3 days`).waitFor()
    const turkish = await open('#/health', { locale: 'tr-TR' })
    await turkish.page.getByText(`${customer.email} hiç bildirim göndermedi (3 gün)`).waitFor()
  })
})

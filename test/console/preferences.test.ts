import { describe, expect, it } from 'vitest'
import { startBrowser } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { openConsole, signIn, startConsoleServer } from '../support/browser/console.ts'

const PATIENCE = 120_000

describe.skipIf(browserPath === undefined)('the preferences of the console', { timeout: PATIENCE }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await startBrowser(browserPath)
  const { server, operator } = await startConsoleServer()

  it('begin with the language of the browser', async () => {
    for (const [locale, button] of [
      ['tr-TR', 'Oturum aç'],
      ['en-US', 'Sign in'],
      ['de-DE', 'Sign in'],
    ] as const) {
      const { page } = await openConsole(browser, server, '', { locale })
      expect(await page.locator('form button').innerText()).toBe(button)
      expect(await page.locator('html').getAttribute('lang')).toBe(locale === 'tr-TR' ? 'tr' : 'en')
    }
  })

  it('show times in local time or UTC and say which, change the language at once, with numbers and dates, and are remembered', async () => {
    const { page } = await openConsole(browser, server, '#/now?range=2026-01-01T00:00:00Z..2026-01-02T00:00:00Z', {
      timezoneId: 'Europe/Istanbul',
    })
    await signIn(page, operator)
    expect(await page.locator('.ranges [aria-current]').innerText()).toBe('01/01/2026, 03:00:00 – 02/01/2026, 03:00:00')
    expect(await page.locator('.zone').innerText()).toBe('GMT+3')
    await page.locator('header.top .menu summary').click()
    await page.getByLabel('Times').selectOption('utc')
    expect(await page.locator('.zone').innerText()).toBe('UTC')
    expect(await page.locator('.ranges [aria-current]').innerText()).toBe('01/01/2026, 00:00:00 – 02/01/2026, 00:00:00')
    expect(await page.getByText('Times in UTC').count()).toBe(1)
    await page.getByLabel('Times').selectOption('local')
    await page.getByLabel('Language').selectOption('tr')
    await page.getByRole('heading', { name: 'Şu an' }).waitFor()
    expect(await page.locator('.ranges [aria-current]').innerText()).toBe('01.01.2026 03:00:00 – 02.01.2026 03:00:00')
    await expect.poll(() => page.title()).toBe('Şu an · teslim')
    await page.reload()
    await page.getByRole('heading', { name: 'Şu an' }).waitFor()
    await page.locator('header.top .menu summary').click()
    await page.getByRole('button', { name: 'Oturumu kapat' }).click()
    expect(await page.locator('.sign-in form button').innerText()).toBe('Oturum aç')
  })

  it('follow the system colours until others are chosen, and print in the light ones', async () => {
    const { page } = await openConsole(browser, server, '', { colorScheme: 'dark' })
    const ground = (): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const dark = await ground()
    await page.getByLabel('Colours').selectOption('light')
    expect(await ground()).toBe('rgb(255, 255, 255)')
    await page.reload()
    expect(await ground()).toBe('rgb(255, 255, 255)')
    await page.getByLabel('Colours').selectOption('dark')
    expect(await ground()).toBe(dark)
    await page.emulateMedia({ colorScheme: 'light' })
    expect(await ground()).toBe(dark)
    // Paper is white.
    await page.emulateMedia({ media: 'print' })
    expect(await ground()).toBe('rgb(255, 255, 255)')
    await page.emulateMedia({ media: 'screen' })
    await page.getByLabel('Colours').selectOption('system')
    expect(await ground()).toBe('rgb(255, 255, 255)')
  })
})

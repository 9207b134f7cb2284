import { describe, expect, it } from 'vitest'
import { startBrowser } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { filterBy, openConsole, signedInAt, signIn, startConsoleServer } from '../support/browser/console.ts'
import { until } from '../support/until.ts'

const PATIENCE = 120_000

describe.skipIf(browserPath === undefined)('what a console seldom meets', { timeout: PATIENCE }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await startBrowser(browserPath)
  const started = await startConsoleServer()
  const { server, operator, customer } = started
  const open = signedInAt(browser, started)

  it('is an address that no view has, also one that every object has', async () => {
    const { page, complaints } = await open('#/constructor')
    await page.getByRole('heading', { name: 'There is no such view' }).waitFor()
    await page.getByRole('link', { name: 'Go to Now' }).click()
    await page.getByRole('heading', { level: 1, name: 'Now' }).waitFor()
    await page.evaluate("location.hash = '#/__proto__/x'")
    await page.evaluate("location.hash = '#/audit'")
    await page.getByRole('heading', { name: 'Audit' }).waitFor()
    expect(complaints).toEqual([])
  })

  it('is a step back while a dialog is open: it closes, and a key that was not copied asks first', async () => {
    const { page, complaints } = await open('#/customers')
    const issue = async () => {
      await page.evaluate(`location.hash = '#/customer/${customer.id}'`)
      await page.locator('main').getByRole('button', { name: 'Issue key' }).click()
    }
    const customers = page.getByRole('heading', { level: 1, name: 'Customers' })
    const dialog = page.locator('dialog')
    await customers.waitFor()
    await issue()
    await dialog.waitFor()
    await page.goBack()
    await customers.waitFor()
    await dialog.waitFor({ state: 'detached' })
    await issue()
    await dialog.getByRole('button', { name: 'Issue key' }).click()
    const key = await dialog.locator('.secret code').innerText()
    await page.goBack()
    await customers.waitFor()
    await dialog.getByText('You have not copied it').waitFor()
    expect(await dialog.locator('.secret code').innerText()).toBe(key)
    await dialog.getByRole('button', { name: 'Close anyway' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })

  it('is a page that is older than its server: it says so, and gets the later one', async () => {
    const { page } = await open('#/audit')
    const gone = { status: 404, json: { success: false, message: 'no', errorCode: 'NOT_FOUND', requestId: 'r1' } }
    await page.route('**/Operator/customers*', (route) => route.fulfill(gone))
    await page.evaluate("location.hash = '#/customers'")
    await page.getByText('This page may be older than the server').waitFor()
    await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Reload' }).click()])
    await page.route('**/console/tr-*.json', (route) => route.fulfill(gone), { times: 1 })
    await page.locator('header .menu summary').click()
    await Promise.all([page.waitForEvent('load'), page.getByLabel('Language').selectOption('tr')])
    await page.getByRole('link', { name: 'Hesaplar' }).waitFor()
  })

  it('is something else in the storage of the browser', async () => {
    const { page, complaints } = await openConsole(browser, server)
    await page.evaluate("localStorage.setItem('teslim.console', 'null')")
    await page.evaluate("sessionStorage.setItem('teslim.console.recent', '5')")
    await page.reload()
    await signIn(page, operator)
    await page.getByRole('combobox', { name: 'Search' }).click()
    expect(await page.locator('.found [role=option]').count()).toBe(0)
    expect(complaints).toEqual([])
  })

  it('is an order id that a field cannot show: another filter leaves it as it is', async () => {
    const { page } = await open('#/deliveries?orderId=a%0Ab+')
    await filterBy(page, 'Status', '3 · Removed from processing')
    await until('the filter is in the address', async () => page.url().includes('status=3'))
    expect(new URL(page.url()).hash).toBe('#/deliveries?orderId=a%0Ab+&status=3')
  })

  it('is an answer with a language that is not chosen any more', async () => {
    const { page } = await open('#/audit')
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route('**/console/tr-*.json', async (route) => {
      await held
      await route.continue()
    })
    await page.locator('header.top .menu summary').click()
    await page.getByLabel('Language').selectOption('tr')
    await page.getByLabel('Language').selectOption('en')
    const answered = page.waitForResponse('**/console/tr-*.json')
    release()
    await (await answered).finished()
    await page.getByLabel('Times').selectOption('utc')
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Audit')
  })

  it('is a file that is lost on its way: the page loads once more by itself, and then says so', async () => {
    for (const file of ['app-*.js', 'en-*.json']) {
      const { page } = await openConsole(browser, server)
      await page.goto('about:blank')
      await page.route(`**/console/${file}`, (route) => route.abort(), { times: 1 })
      await page.goto(`${server.url}/console`)
      await page.locator('form button').waitFor()
      await page.goto('about:blank')
      await page.route(`**/console/${file}`, (route) => route.fulfill({ status: 503, json: { data: null } }))
      await page.goto(`${server.url}/console`)
      expect(await page.getByRole('alert').innerText()).toBe('The page could not be loaded.')
      await page.unrouteAll()
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.locator('form button').waitFor()
    }
  })

  it('is somebody who types before the first rows are there', async () => {
    const { page } = await openConsole(browser, server, '#/audit')
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route('**/Operator/audit*', async (route) => {
      await held
      await route.continue()
    })
    await signIn(page, operator)
    await page.getByRole('button', { name: 'Filters' }).click()
    await page.locator('.filters .options').getByRole('button', { name: 'Order' }).click()
    const field = page.getByLabel('Order', { exact: true })
    await field.pressSequentially('PO-1')
    expect(await page.getByText('No results in the audit log').count()).toBe(0)
    release()
    await page.locator('.audit tbody tr').first().waitFor()
    expect(await field.inputValue()).toBe('PO-1')
  })

  it('is somebody without a mouse in the menu and in the search', async () => {
    const { page } = await open('#/audit')
    const menu = page.locator('header.top .menu')
    await menu.locator('summary').press('Enter')
    await page.getByLabel('Times').press('Escape')
    expect(await menu.getAttribute('open')).toBe(null)
    await menu.locator('summary').press('Enter')
    await page.keyboard.press('/')
    await until('the menu is closed', async () => (await menu.getAttribute('open')) === null)
    await page.keyboard.type('operator')
    await page.locator('.found [role=option]').first().waitFor()
    await page.keyboard.press('Enter')
    await page.keyboard.press('/')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await until('recent searches are forgotten', async () => (await page.locator('.found [role=option]').count()) === 0)
  })
})

import { describe, expect, it } from 'vitest'
import { startBrowser } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { openConsole, signedInAt, startConsoleServer } from '../support/browser/console.ts'

describe.skipIf(browserPath === undefined)('the console', { timeout: 180_000 }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await startBrowser(browserPath)
  const started = await startConsoleServer()
  const { server, deliver, command } = started
  const receipt = await deliver({ OrderID: 'PO-1', Status: 2, Note: 'hidden words' })
  const add = async (email: string, ...role: string[]) => {
    const args = ['customer', 'add', '--email', email, '--api', '--generate', ...role]
    return ((await command(args)) as { password: string }).password
  }
  const support = await add('support@example.com', '--operator', '--support')
  const payloads = await add('payloads@example.com', '--operator', '--support', '--payloads')
  const feed = await add('feed@example.com', '--feed')

  const open = signedInAt(browser, started)

  it('shows support what it may see, and offers nothing else', async () => {
    const { page, complaints } = await open(`#/delivery/${receipt}`, {
      email: 'support@example.com',
      password: support,
    })
    await page.getByText('The payload is not shown').waitFor()
    expect(await page.locator('main').textContent()).not.toContain('hidden words')
    const views = () => page.locator('nav.views a').allTextContents()
    expect(await views()).toEqual(['Now', 'Deliveries', 'Orders', 'Customers', 'Refusals'])
    expect(await page.locator('a[href^="#/audit"]').count()).toBe(0)
    await page.goto(`${server.url}/console#/deliveries`)
    await page.getByText('PO-1').waitFor()
    await page.getByRole('button', { name: 'Filters' }).click()
    await page.locator('.filters .options').getByText('Order').waitFor()
    expect(await page.locator('.filters .options').textContent()).not.toContain('Product')
    await page.goto(`${server.url}/console#/customers`)
    await page.getByText('You are an operator for support').waitFor()
    await page.locator('main .badge', { hasText: 'Feed only' }).waitFor()
    await page.locator('main .badge', { hasText: 'Support with payloads' }).first().waitFor()
    await page.locator('header.top .menu summary').click()
    expect(await page.locator('header.top .menu').textContent()).toContain('Support')
    await page.goto(`${server.url}/console#/audit`)
    await page.getByText('An operator for support may not see this.').waitFor()
    expect(complaints.filter((each) => !each.includes('403'))).toEqual([])
  })

  it('shows payloads to support that has the right to them', async () => {
    const { page } = await open(`#/delivery/${receipt}`, { email: 'payloads@example.com', password: payloads })
    await page.getByText('hidden words').first().waitFor()
  })

  it('lets no follower of the feed in', async () => {
    const { page } = await openConsole(browser, server)
    await page.locator('input[name=email]').fill('feed@example.com')
    await page.locator('input[name=password]').fill(feed)
    await page.locator('form button').click()
    await page.getByText('Only operators may use the console').waitFor()
  })

  it('adds customers with the new roles', async () => {
    const { page } = await open('#/customers')
    await page.getByRole('button', { name: 'Add' }).first().click()
    await page.locator('input[name=Email]').fill('new@example.com')
    await page.locator('input[value=supportWithPayloads]').check()
    await page.locator('dialog button[type=submit], dialog button.primary').first().click()
    await page.locator('dialog code, dialog .secret').first().waitFor()
    expect(await command(['customer', 'show', 'new@example.com'])).toMatchObject({
      scope: 'operator:support',
      payloads: true,
      isApi: true,
    })
  })
})

import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { axeSays, LOOKS } from '../support/browser/axe.ts'
import { copiedIn, startBrowser } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { openConsole, setAside, signedInAt, signIn, startConsoleServer } from '../support/browser/console.ts'
import { tempFolder } from '../support/temp-folder.ts'

const PATIENCE = 240_000
const PHONE = { width: 390, height: 844 }
const WIDTHS = [320, 390, 1440, 1920]
/** One on each side of the only width at which the layout changes. */
const JUDGED_WIDTHS = [320, 1440]
const LONG = 'a'.repeat(120)
/** Markup and a long word, which must stay text. */
const LABEL = `<img src=x onerror=alert(1)>${'w'.repeat(60)}`
/** With a bidi override, too, which suppliers may send. */
const ORDER = LABEL.replace('>', '>\u202e')

/** JavaScript that lists what no view may have. */
const WRONG = `[
  ...[...document.querySelectorAll('main :is(img, script)')].map((each) => ['not text', each]),
  ...[...document.querySelectorAll('main table :is(td, th, td *, th *)')]
    .filter((each) => Number.parseFloat(getComputedStyle(each).fontSize) > 13)
    .map((each) => ['larger than its table', each]),
  ...[...document.querySelectorAll('.rows thead th')]
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
    .map((each) => ['a heading that is cut off', each]),
  ...[...document.querySelectorAll('a, button, input, select, summary, textarea')]
    .filter((each) => {
      const { width, height } = each.getBoundingClientRect()
      const isInText = each.tagName === 'A' && getComputedStyle(each).display === 'inline'
      const isSmall = each.checkVisibility() && !isInText && each.className !== 'skip' && (width < 24 || height < 24)
      return isSmall && innerWidth < 400
    })
    .map((each) => ['too small for a finger', each]),
].map(([what, { outerHTML }]) => what + ': ' + outerHTML)`

describe.skipIf(browserPath === undefined)('the look of the console', { timeout: PATIENCE }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await startBrowser(browserPath)
  const file = join(tempFolder(), 'teslim.db')
  const started = await startConsoleServer({ DATABASE_URL: `sqlite:${file}`, TESLIM_KEEP_REFUSED: 'known' })
  const { server, operator, customer, command, deliver } = started
  const narrow = (await command([
    ...['customer', 'add', '--email', 'narrow@example.com', '--generate', '--allow', 'SKU-1'],
  ])) as { id: string }
  const { key } = (await command(['key', 'issue', '--customer', narrow.id, '--label', LABEL])) as { key: string }
  const { Endpoint } = (await command(['webhook', 'add', '--url', 'https://backoffice.example/'])) as {
    Endpoint: { EndpointID: string }
  }
  await command(['webhook', 'pause', Endpoint.EndpointID])
  for (const status of [0, 1, 2, 3]) await deliver({ OrderID: `PO-${status}`, Status: status })
  for (let i = 0; i < 20; i++) await deliver({ OrderID: `PO-${i}`, Status: 3 })
  await deliver({ OrderID: 'PO-9', Status: 2, ProductID: 'SKU-2', Note: ORDER }, { apikey: key }).catch(() => undefined)
  const hostile = await deliver({ OrderID: ORDER, Status: 2, filling: 'x'.repeat(100_000) })
  const receipt = await deliver({ OrderID: LONG, Status: 2 })
  setAside(file, Endpoint.EndpointID, [receipt, hostile])
  const VIEWS = [
    ...[
      'now',
      'now?range=day',
      'deliveries',
      'orders',
      'customers',
      'refusals',
      'webhooks',
      'audit',
      'health',
      'nothing',
    ],
    ...[`delivery/${hostile}`, `order/${customer.id}/PO-3`, `customer/${narrow.id}`, 'customer/unknown'],
    ...[`webhook/${Endpoint.EndpointID}`, 'webhook/unknown'],
    'deliveries?status=0&customer=shop@example.com&orderId=none',
  ]
  const DIALOGS = [
    ['customers', 'main .heading button.primary', 1],
    [`customer/${narrow.id}`, 'main .heading button.primary, .row-actions button, .rules button', 4],
    ['webhooks', 'main .heading button.primary', 1],
    [`webhook/${Endpoint.EndpointID}`, 'main :is(.buttons, .row-actions, .danger-zone) button', 7],
  ] as const
  const open = signedInAt(browser, started)
  const show = async (page: Page, view: string) => {
    await page.evaluate(`location.hash = '#/${view}'`)
    await page.locator('main h1').waitFor()
    await expect.poll(() => page.locator('main :is(.skeleton, [aria-busy=true])').count(), { timeout: 30_000 }).toBe(0)
  }

  // A rule of axe judges words or colours, so two looks with both of each find all that four find.
  it.each(LOOKS)(
    'passes axe in every view and dialog, narrow and wide, and no view scrolls sideways at any width: $locale, $colorScheme',
    async (look) => {
      const { page, complaints } = await open('', look)
      for (const view of VIEWS) {
        await show(page, view)
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 844 })
          await expect.poll(() => page.evaluate('document.documentElement.scrollWidth'), { message: view }).toBe(width)
          expect([width, view, await page.evaluate(WRONG)]).toEqual([width, view, []])
          if (JUDGED_WIDTHS.includes(width)) expect([width, view, await axeSays(page)]).toEqual([width, view, []])
        }
      }
      for (const [view, selector, count] of DIALOGS) {
        await show(page, view)
        const buttons = page.locator(selector)
        await expect.poll(() => buttons.count()).toBe(count)
        for (let button = 0; button < count; button++) {
          await buttons.nth(button).click()
          await page.locator('dialog h2').waitFor()
          for (const summary of await page.locator('dialog summary').all()) await summary.click()
          expect([view, button, await axeSays(page)]).toEqual([view, button, []])
          await page.keyboard.press('Escape')
          await page.locator('dialog').waitFor({ state: 'detached' })
        }
      }
      expect(complaints.filter((each) => !each.includes('404'))).toEqual([])
    },
  )

  it('fits ten rows on a phone, and the menu shows the view that is open', async () => {
    const { page } = await open('#/audit', { viewport: PHONE })
    const inMenu = async (name: string) => {
      const box = await page.locator('nav.views').getByRole('link', { name, exact: true }).boundingBox()
      return box !== null && box.x >= 0 && box.x + box.width <= PHONE.width
    }
    await page.locator('main h1').waitFor()
    expect([await inMenu('Audit'), await inMenu('Now')]).toEqual([true, false])
    await show(page, 'deliveries')
    expect([await inMenu('Audit'), await inMenu('Deliveries')]).toEqual([false, true])
    const bottoms = await page
      .locator('tr.row')
      .evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().bottom))
    expect(bottoms.filter((bottom) => bottom <= PHONE.height).length).toBeGreaterThanOrEqual(10)
  })

  it('follows the font size of the browser', async () => {
    const { page } = await open('#/deliveries')
    const sizes = () =>
      page.evaluate<string[]>(
        "['body', 'h1', 'tr.row a', 'th', '.filters button'].map((each) => getComputedStyle(document.querySelector(each)).fontSize)",
      )
    await page.locator('tr.row').first().waitFor()
    const usual = await sizes()
    await page.evaluate("document.documentElement.style.fontSize = '32px'")
    expect(await sizes()).toEqual(usual.map((size) => `${2 * Number.parseFloat(size)}px`))
    expect(new Set(usual)).toEqual(new Set(['14px', '20px', '13px', '12px']))
  })

  it('keeps the colours of charts, Status and Live where the system has its own', async () => {
    const { page } = await open('#/now', { forcedColors: 'active' })
    await page.locator('.live.live').waitFor()
    const colours = (selector: string, pseudo: string) =>
      page.evaluate<string[]>(
        `[...document.querySelectorAll(${JSON.stringify(selector)})].map((each) => getComputedStyle(each, ${JSON.stringify(pseudo)}).backgroundColor)`,
      )
    const legend = await colours('.statuses .swatch', '')
    expect([legend.length, new Set(legend).size]).toEqual([4, 4])
    const [live] = await colours('.live', '::before')
    expect(live).toMatch(/^rgb/)
    expect(legend).not.toContain(live)
    await show(page, 'orders')
    expect(new Set(await colours('tr.row .dot', '::before')).size).toBe(2)
  })

  it('says how long ago a row was, with the exact time as a hint, which a click copies', async () => {
    const { page } = await open(`#/deliveries?orderId=${LONG}`)
    const time = page.locator('tr.row td').last().getByRole('button')
    expect(await time.getAttribute('title')).toMatch(/^\d\d\/\d\d\/\d{4}, \d\d:\d\d:\d\d\.\d{3} \S+$/)
    await time.click()
    await time.getByText('Copied').waitFor()
    await time.getByText('ago').waitFor()
    expect(await copiedIn(page)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(new URL(page.url()).hash).toContain('#/deliveries')
  })

  it('sets, changes and removes filters by keyboard only', async () => {
    const { page, complaints } = await open('#/orders')
    const { keyboard } = page
    const focused = () => page.evaluate<string>('document.activeElement.textContent || document.activeElement.name')
    const address = () => new URL(page.url()).hash
    await page.locator('tr.row').first().waitFor()
    await page.getByRole('button', { name: 'Filters' }).press('Enter')
    await expect.poll(focused).toBe('Customer')
    await keyboard.press('ArrowDown')
    expect(await focused()).toBe('Order')
    await keyboard.press('Enter')
    await expect.poll(focused).toBe('orderId')
    await keyboard.type('PO-3')
    await keyboard.press('Enter')
    const chip = page.locator('.chip')
    await chip.getByText('Order: PO-3').waitFor()
    expect(address()).toBe('#/orders?orderId=PO-3')
    await chip.getByRole('button').first().press('Enter')
    await expect.poll(focused).toBe('orderId')
    await keyboard.press('Escape')
    await expect.poll(focused).toBe('Order: PO-3')
    expect(await page.locator('.filters .sheet').count()).toBe(0)
    await keyboard.press('Tab')
    await keyboard.press('Enter')
    await expect.poll(address).toBe('#/orders')
    await expect.poll(focused).toMatch(/Filters/)
    expect(complaints).toEqual([])
  })

  it('counts in the menu the endpoints that fail', async () => {
    const { page } = await openConsole(browser, server, '#/health')
    await page.route('**/Webhook/endpoints', async (route) => {
      const { data, ...answer } = await (await route.fetch()).json()
      const Endpoints = data.Endpoints.map((each: object) => ({ ...each, State: 'failing' }))
      await route.fulfill({ json: { ...answer, data: { Endpoints } } })
    })
    await signIn(page, operator)
    await page.locator('nav.views .badge.failed', { hasText: '1' }).waitFor()
  })

  it('copies ids where they stand, and shows more of them on demand', async () => {
    const { page } = await open(`#/delivery/${receipt}`)
    await page.getByRole('button', { name: 'Copy Receipt' }).click()
    await page.getByText('Copied').first().waitFor({ state: 'attached' })
    expect(await copiedIn(page)).toBe(receipt)
    const more = page.locator('.more')
    expect(await more.locator('code').first().isVisible()).toBe(false)
    await more.locator('summary').click()
    expect(await more.locator('code').count()).toBe(2)
  })
})

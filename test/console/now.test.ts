import type { Page, Route } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { startBrowser } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { changeFrames, openConsole, signedInAt, signIn, startConsoleServer } from '../support/browser/console.ts'
import { newPostgresStore } from '../support/postgres/postgres-session.ts'
import { until } from '../support/until.ts'

const PATIENCE = 180_000
const WAITING = { milliseconds: 60_000 }

const tile = (page: Page, name: string) =>
  page.locator('.tile', { has: page.locator('span', { hasText: new RegExp(`^${name}$`) }) })
const numberOn = (page: Page, name: string): Promise<string> => tile(page, name).locator('strong').innerText()
const shows = (page: Page, name: string, value: string): Promise<void> =>
  until(`${name} is ${value}`, async () => (await numberOn(page, name)) === value, WAITING)

/** The view and the parameters of a link. */
async function addressOf(page: Page, name: string): Promise<[string, Record<string, string>]> {
  const [path = '', query = ''] = ((await tile(page, name).getAttribute('href')) ?? '').split('?')
  return [path, Object.fromEntries(new URLSearchParams(query))]
}

const parametersOf = (page: Page): URLSearchParams => new URLSearchParams(new URL(page.url()).hash.split('?')[1])

describe.skipIf(browserPath === undefined)('the view Now', { timeout: PATIENCE }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await startBrowser(browserPath)
  const started = await startConsoleServer()
  const { server, operator, deliver, command } = started
  const openView = signedInAt(browser, started)

  const open = async (view = '#/now') => {
    const opened = await openView(view)
    await opened.page.locator('.plot').waitFor()
    return opened
  }

  it('teaches how to make the first delivery, and on PostgreSQL names its own tools instead of warning of a backup', async () => {
    const onPostgres = await startConsoleServer({ DATABASE_URL: await newPostgresStore() })
    const { page } = await signedInAt(browser, onPostgres)('#/now')
    await page.getByText('No deliveries arrived in these 15 minutes.').waitFor()
    expect(await page.locator('.empty pre').innerText()).toContain(`curl ${onPostgres.server.url}/Purchase/update`)
    expect([await numberOn(page, 'Deliveries'), await numberOn(page, 'Delivery, median')]).toEqual([
      '0',
      'None in the last minute',
    ])
    await shows(page, 'Latest backup', "By PostgreSQL's own tools")
    expect(await tile(page, 'Latest backup').getAttribute('class')).not.toContain('warning')
  })

  describe('with deliveries', () => {
    const began = Date.now()
    beforeAll(async () => {
      for (const [index, Status] of [0, 1, 1, 2, 2, 2, 3].entries()) await deliver({ OrderID: `N-${index}`, Status })
      await deliver({ OrderID: 'N-6', Status: 3 })
      await deliver({ OrderID: 'N-6', Status: 9 }).catch(() => undefined)
    })

    it('shows the totals by Status, duplicates and how the server is doing, as they arrive', async () => {
      const { page } = await open()
      await shows(page, 'Deliveries', '8')
      for (const [name, value] of [
        ['Canceled', '1'],
        ['Updated', '2'],
        ['Being processed', '3'],
        ['Removed from processing', '2'],
        ['Duplicates', '1'],
        ['Waiting to be stored', 'None'],
        ['Store', 'One file'],
        ['Latest backup', 'Never'],
      ] as const)
        expect([name, await numberOn(page, name)]).toEqual([name, value])
      expect(await tile(page, 'Latest backup').getAttribute('class')).toContain('warning')
      await deliver({ OrderID: 'N-live', Status: 0 })
      await shows(page, 'Canceled', '2')
      await deliver({ OrderID: 'N-live', Status: 9 }).catch(() => undefined)
      expect(await page.locator('.tile', { hasText: /^Refused since \d\d:\d\d/ }).getAttribute('href')).toMatch(/from=/)
      const refusal = page.locator('.refused a')
      expect(await refusal.innerText()).toBe('INVALID_REQUEST')
      expect(await refusal.getAttribute('href')).toMatch(/^#\/refusals\?code=INVALID_REQUEST&from=/)
      await until('a latency is shown', async () => /^[\d.]+ ms$/.test(await numberOn(page, 'Delivery, p99')), WAITING)
    })

    it('says in one line whether all is well, each part with the view that says more', async () => {
      const { page } = await open()
      const line = page.locator('.well')
      /** Its links, each with what its dot says. */
      const parts = async (): Promise<string[][]> => {
        const items = await line.locator('li').all()
        return Promise.all(
          items.map(async (item) => [
            await item.locator('a').innerText(),
            (await item.locator('a').getAttribute('href')) ?? '',
            (await item.locator('.dot').getAttribute('class')) ?? '',
          ]),
        )
      }
      const good = 'dot good'
      await line.getByText('Backup: needs attention').waitFor()
      await line.getByText('Refusals as usual').waitFor()
      const found = await parts()
      expect(found).toContainEqual(['Taking deliveries', '#/deliveries', good])
      expect(found).toContainEqual([expect.stringMatching(/^\d+ deliveries an hour$/), '#/now?range=day', good])
      expect(found).toContainEqual(['Refusals as usual', '#/refusals', good])
      expect(found).toContainEqual(['Backup: needs attention', '#/health', 'dot warning'])
      expect(found.at(-1)?.[2]).toBe(good)
      expect(await line.getByRole('status').innerText()).toBe('Works, but needs attention')

      const check = (Name: string, Status: string, Code: string, Values = {}) => {
        return { Name, Status, Code, Values, Message: Code }
      }
      const checks = [
        check('webhooks', 'ok', 'WEBHOOKS_SOUND', { count: 2 }),
        check('suppliers', 'ok', 'SUPPLIERS_HEARD', { count: 3 }),
        check('disk', 'ok', 'DISK_FREE'),
      ]
      let dayBefore = 2
      await page.route('**/Operator/health', async (route) => {
        const answer = await route.fetch()
        const body = (await answer.json()) as { data: object }
        await route.fulfill({ response: answer, json: { ...body, data: { ...body.data, Checks: checks } } })
      })
      await page.route('**/Purchase/stats*', async (route) => {
        const answer = await route.fetch()
        const body = (await answer.json()) as { data: { Periods: { Deliveries: { Total: number } }[] } }
        for (const period of body.data.Periods.slice(0, 2)) period.Deliveries.Total = dayBefore
        await route.fulfill({ response: answer, json: body })
      })
      const again = async () => {
        await page.evaluate("location.hash = '#/orders'")
        await page.evaluate("location.hash = '#/now'")
        await line.getByText('24 hours ago').waitFor()
      }
      await again()
      await line.getByText('Webhooks').waitFor()
      expect((await parts()).slice(3)).toEqual([
        ['Webhooks in time', '#/webhooks', good],
        ['Nobody silent', '#/customers', good],
      ])
      expect(await line.locator('li', { hasText: 'Webhooks' }).getAttribute('title')).toContain('2 endpoints')
      expect(await line.getByRole('status').innerText()).toBe('Everything is as it should be')
      checks[0] = check('webhooks', 'ok', 'WEBHOOKS_SOUND_BUT_PAUSED', { count: 2, paused: ['e1', 'e2'] })
      await again()
      await line.getByText('Webhooks: 2 paused, none behind').waitFor()
      checks[0] = check('webhooks', 'failed', 'WEBHOOKS_FAILING', { endpoints: ['e1'] })
      dayBefore = 100_000
      await again()
      await line.getByText('Webhooks: failed').waitFor()
      expect((await parts()).slice(0, 2)).toEqual([
        ['Webhooks: failed', '#/webhooks', 'dot failed'],
        [expect.stringMatching(/\(24 hours ago: 100,000\)$/), '#/now?range=day', 'dot warning'],
      ])
      expect(await line.getByRole('status').innerText()).toBe('Something is broken')
    })

    describe('calls nothing well that is not known:', () => {
      const SOUND = [{ Name: 'disk', Status: 'ok', Code: 'DISK_FREE', Values: {}, Message: 'free' }]
      const withChecks = (page: Page, Checks = SOUND) =>
        page.route('**/Operator/health', async (route) => {
          const answer = await route.fetch()
          const body = (await answer.json()) as { data: object }
          await route.fulfill({ response: answer, json: { ...body, data: { ...body.data, Checks } } })
        })
      const fail = (route: Route) =>
        route.fulfill({ status: 503, json: { success: false, errorCode: 'STORE_UNAVAILABLE' } })
      const saysInAll = async (page: Page, words: string): Promise<void> =>
        page.locator('.well').getByRole('status').getByText(words, { exact: true }).waitFor()
      const says = async (page: Page, ...words: string[]): Promise<void> => {
        for (const each of words) await page.locator('.well li').getByText(each, { exact: true }).waitFor()
      }
      const opened = async (prepare: (page: Page) => Promise<unknown>, who = operator) => {
        const { page } = await openConsole(browser, server, '#/now')
        await prepare(page)
        await signIn(page, who)
        await page.locator('.plot').waitFor()
        return page
      }

      it('without the checks, or what is usual', async () => {
        const both = /Operator\/health|Purchase\/stats/
        const page = await opened(async (page) => {
          await withChecks(page)
          await page.route(both, fail)
        })
        await says(page, 'Taking deliveries', 'Deliveries: not known', 'Refusals: not known', 'Health: not known')
        // Nobody has checked the backup.
        await says(page, 'Backup: needs attention')
        await saysInAll(page, 'Works, but needs attention')
        await page.unroute(both)
        await page.evaluate("location.hash = '#/orders'")
        await page.evaluate("location.hash = '#/now'")
        await saysInAll(page, 'Everything is as it should be')
      })

      it('before the first answers, and while the live data is paused', async () => {
        const { promise: held, resolve: release } = Promise.withResolvers<void>()
        const page = await opened(async (page) => {
          await changeFrames(page, { BackupAt: new Date().toISOString() })
          await withChecks(page)
          await page.route('**/Operator/health', async (route) => {
            await held
            await route.fallback()
          })
        })
        await says(page, 'Health: not known', 'Refusals as usual')
        await saysInAll(page, 'Not everything is known')
        release()
        await saysInAll(page, 'Everything is as it should be')
        await page.locator('button.live').click()
        await says(page, 'Live data is paused')
        await saysInAll(page, 'Not everything is known')
        expect(await page.locator('.well').getByText('Taking deliveries').count()).toBe(0)
      })

      it('to support, which sees no checks, and sees a backup that is missing', async () => {
        const { password } = (await command([
          ...['customer', 'add', '--email', 'support@example.com', '--api', '--generate', '--operator', '--support'],
        ])) as { password: string }
        const { page } = await openConsole(browser, server, '#/now')
        await signIn(page, 'support@example.com', password)
        await says(page, 'Refusals as usual', 'Backup: needs attention')
        await saysInAll(page, 'Works, but needs attention')
        expect(await page.locator('.well li', { hasText: 'Backup' }).locator('a').getAttribute('href')).toBeNull()
        await changeFrames(page, { BackupAt: new Date().toISOString() })
        await page.locator('button.live').click()
        await page.locator('button.live').click()
        await saysInAll(page, 'What you may see is as it should be')
      })

      it('while deliveries are answered with 5xx', async () => {
        const page = await opened((page) => changeFrames(page, { Failed: 3, Seconds: [] }))
        await says(page, '3 deliveries could not be stored in the last minute')
        await saysInAll(page, 'Something is broken')
        // Some are stored, too.
        const Seconds = [{ At: Math.floor(Date.now() / 1000), ByStatus: [0, 1, 0, 0], Duplicates: 0 }]
        await changeFrames(page, { Failed: 3, Seconds })
        await page.locator('button.live').click()
        await page.locator('button.live').click()
        await says(page, '3 deliveries could not be stored in the last minute')
        await saysInAll(page, 'Works, but needs attention')
      })
    })

    it('links each number to its rows', async () => {
      const { page } = await open('#/now?range=day')
      const [path, parameters] = await addressOf(page, 'Being processed')
      expect([path, parameters.status]).toEqual(['#/deliveries', '2'])
      expect(Date.parse(String(parameters.from))).toBeLessThan(began)
      expect(Date.parse(String(parameters.to))).toBeGreaterThan(began)
      expect((await addressOf(page, 'Duplicates'))[1].duplicate).toBe('true')
      expect((await addressOf(page, 'Refused'))[0]).toBe('#/refusals')
      expect((await addressOf(page, 'Store'))[0]).toBe('#/health')
      const live = await open()
      await live.page.locator('.tile strong:not(:has(.skeleton))').first().waitFor()
      // What comes in next belongs to the rows, too.
      expect(Object.keys((await addressOf(live.page, 'Updated'))[1])).toEqual(['status', 'from'])
    })

    it('shows hours, days and months as the server counted them, and prints the numbers', async () => {
      const { page } = await open('#/now?range=day')
      for (const [range, title, columns] of [
        ['24 hours', 'Deliveries by hour', 24],
        ['30 days', 'Deliveries by day', 30],
        ['12 months', 'Deliveries by month', 12],
      ] as const) {
        await page.getByRole('link', { name: range }).click()
        await page.getByRole('heading', { name: title }).waitFor()
        await page.locator('.plot').waitFor()
        expect([range, await page.locator('tbody tr').count()]).toEqual([range, columns])
        expect([range, Number(await numberOn(page, 'Removed from processing'))]).toEqual([range, 2])
        expect([range, await page.locator('.refused dd').innerText()]).toEqual([range, expect.stringMatching(/^[12]$/)])
      }
      const table = page.locator('.now table')
      expect((await table.locator('..').boundingBox())?.height).toBe(1)
      await page.emulateMedia({ media: 'print' })
      expect((await table.boundingBox())?.height).toBeGreaterThan(300)
      expect(await page.locator('header.top').isVisible()).toBe(false)
    })

    it('is read by keyboard, and Shift selects a range that stays when the page is loaded again', async () => {
      const { page } = await open('#/now?range=month')
      const plot = page.getByRole('slider', { name: 'Deliveries by day' })
      await plot.focus()
      await page.keyboard.press('End')
      const words = () => plot.getAttribute('aria-valuetext')
      await expect
        .poll(words)
        .toMatch(/: \d+ deliveries\. Canceled [12], Updated 2, Being processed 3, Removed from processing 2$/)
      await page.keyboard.press('Home')
      await expect.poll(words).toContain(': 0 deliveries.')
      expect(await numberOn(page, 'Updated')).toBe('2')
      await page.keyboard.press('Shift+ArrowRight')
      await page.keyboard.press('Shift+ArrowRight')
      const days = (): number => {
        const [from = '', to = ''] = (parametersOf(page).get('select') ?? '').split('..')
        return (Date.parse(to) - Date.parse(from)) / 86_400_000
      }
      expect(days()).toBe(3)
      expect(await numberOn(page, 'Updated')).toBe('0')
      await page.keyboard.press('Shift+ArrowLeft')
      expect(days()).toBe(2)
      await page.reload()
      await page.getByRole('heading', { name: 'Selected' }).waitFor()
      await shows(page, 'Updated', '0')
      const [from, to] = (parametersOf(page).get('select') ?? '').split('..')
      expect((await addressOf(page, 'Deliveries'))[1]).toEqual({ from, to })
      await plot.focus()
      await page.keyboard.press('Escape')
      await shows(page, 'Updated', '2')
      expect(parametersOf(page).has('select')).toBe(false)
    })

    it('is brushed with the mouse, zooms into the range, and leads to its deliveries', async () => {
      const { page } = await open('#/now?range=month')
      // What is said above the chart moves it.
      await page.locator('.well').getByText('Backup').waitFor()
      const box = await page.locator('.plot').boundingBox()
      if (box === null) throw new Error('there is no chart')
      const at = (column: number): [number, number] => [box.x + ((column + 0.5) / 30) * box.width, box.y + 40]
      await page.mouse.move(...at(29))
      expect(await page.locator('.read').innerText()).toMatch(/ · \d+$/)
      await page.mouse.move(...at(28))
      await page.mouse.down()
      await page.mouse.move(...at(29), { steps: 3 })
      await page.mouse.up()
      await shows(page, 'Updated', '2')
      const select = parametersOf(page).get('select') ?? ''
      const [from = '', to = ''] = select.split('..')
      expect(Date.parse(to) - Date.parse(from)).toBe(2 * 86_400_000)
      await page.getByRole('link', { name: 'Zoom in' }).click()
      await page.getByRole('heading', { name: 'Deliveries by hour' }).waitFor()
      await page.locator('.plot').waitFor()
      expect(await page.locator('tbody tr').count()).toBe(48)
      await page.goBack()
      await page.getByRole('link', { name: 'Show deliveries' }).click()
      await page.getByRole('heading', { level: 1, name: 'Deliveries' }).waitFor()
      expect(Object.fromEntries(parametersOf(page))).toEqual({ from, to })
    })

    it('says how far the server has counted', async () => {
      const { page } = await open()
      await page.route('**/Purchase/stats*', async (route) => {
        const answer = await route.fetch()
        const body = (await answer.json()) as { data: { CountedUntil: string } }
        body.data.CountedUntil = new Date(began - 3 * 3_600_000).toISOString()
        await route.fulfill({ response: answer, json: body })
      })
      await page.getByRole('link', { name: '24 hours' }).click()
      await page.getByText('Later deliveries are missing').waitFor()
      expect(await page.locator('.gap').count()).toBe(1)
    })

    it('says why a range cannot be shown', async () => {
      const { page } = await open()
      await page.evaluate("location.hash = '#/now?range=2020-01-01..2026-01-01'")
      expect(await page.getByRole('alert').innerText()).toContain('at most 366 days')
      await page.evaluate("location.hash = '#/now?range=nonsense'")
      await page.getByRole('heading', { name: 'Deliveries a second' }).waitFor()
      expect(await page.getByRole('alert').count()).toBe(0)
    })
  })
})

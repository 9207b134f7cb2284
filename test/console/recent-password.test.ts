import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { startBrowser } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { PASSWORD, signedInAt, startConsoleServer } from '../support/browser/console.ts'
import { tempFolder } from '../support/temp-folder.ts'

const PATIENCE = 180_000
const HALF_AN_HOUR = 1_800_000

describe.skipIf(browserPath === undefined)(
  'the console, half an hour after a sign-in',
  { timeout: PATIENCE },
  async () => {
    if (browserPath === undefined) return it('needs a browser', () => undefined)
    const browser = await startBrowser(browserPath)
    const file = join(tempFolder(), 'teslim.db')
    const started = await startConsoleServer({ TESLIM_WEBHOOK_ALLOW: 'localhost:9', DATABASE_URL: `sqlite:${file}` })
    const { customer, deliver, command } = started
    const open = signedInAt(browser, started)
    const receipt = await deliver({ OrderID: 'PO-1', Status: 1 })
    await deliver({ OrderID: 'PO-2', Status: 1 })
    const add = async () => {
      const added = await command(['webhook', 'add', '--url', 'http://localhost:9/'])
      return (added as { Endpoint: { EndpointID: string } }).Endpoint.EndpointID
    }
    const [replayed, removed] = [await add(), await add()]

    const press = (page: Page, button: string) => page.getByRole('button', { name: button, exact: true }).click()
    const inDialog = (page: Page, button: string) =>
      page.locator('dialog').getByRole('button', { name: button, exact: true }).click()
    const remove = async (page: Page) => {
      await press(page, 'Kaldır')
      await inDialog(page, 'Kaldır')
    }
    const CASES: readonly [
      what: string,
      locale: string,
      view: string,
      act: (page: Page) => Promise<void>,
      done: string,
    ][] = [
      [
        'a rule for everything is added',
        'en-GB',
        `#/customer/${customer.id}`,
        async (page) => {
          await press(page, 'Add rules')
          await page.locator('dialog textarea').fill('B*')
          await inDialog(page, 'Add rules')
        },
        'customer.allow',
      ],
      [
        'a delivery is erased',
        'en-GB',
        `#/delivery/${receipt}`,
        async (page) => {
          await press(page, 'Erase delivery')
          await inDialog(page, 'Erase for good')
        },
        'delivery.erase',
      ],
      [
        'an order is erased',
        'tr-TR',
        `#/order/${customer.id}/PO-2`,
        async (page) => {
          await press(page, 'Siparişi sil')
          await inDialog(page, 'Kalıcı olarak sil')
        },
        'order.erase',
      ],
      [
        'a stretch is sent again',
        'en-GB',
        `#/webhook/${replayed}`,
        async (page) => {
          await press(page, 'Send again…')
          await page.getByLabel('Everything in the store').check()
          await inDialog(page, 'Send again')
        },
        'webhook.replay',
      ],
      ['an endpoint is removed', 'tr-TR', `#/webhook/${removed}`, remove, 'webhook.remove'],
    ]

    it.each(CASES)('asks for the password before %s, and then does it (%s)', async (_what, locale, view, act, done) => {
      const { page, complaints } = await open('', { locale })
      const database = new DatabaseSync(file)
      database.exec(`PRAGMA busy_timeout = 10000; UPDATE console_session SET auth_at = auth_at - ${HALF_AN_HOUR}`)
      database.close()
      await page.goto(`${started.server.url}/console${view}`)
      await page.reload()
      const doneOf = async () => ((await command(['audit', 'list', '--action', done])) as unknown[]).length
      await act(page)
      const inTurkish = locale === 'tr-TR'
      const title = inTurkish ? 'Parolanızı yeniden girin' : 'Enter your password again'
      await page.getByRole('heading', { name: title }).waitFor()
      await page.getByText(inTurkish ? 'bu işlem için yeniden gerekiyor' : 'this action needs it again').waitFor()
      expect(await doneOf()).toBe(0)
      await page.locator('dialog input[name=password]').fill(PASSWORD)
      await inDialog(page, inTurkish ? 'Onayla' : 'Confirm')
      await expect.poll(doneOf, { timeout: 30_000 }).toBe(1)
      await page.locator('dialog').first().waitFor({ state: 'detached' })
      // The browser itself names what was refused.
      expect(complaints.filter((complaint) => !complaint.includes('403'))).toEqual([])
    })
  },
)

import { describe, expect, it } from 'vitest'
import { axeSays } from '../support/browser/axe.ts'
import { startBrowser } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { artefacts, signedInAt, startConsoleServer } from '../support/browser/console.ts'

const PATIENCE = 120_000
const body = (OrderID: string, name: string) => ({ OrderID, Status: 2, name, filler: 'more than a digest '.repeat(5) })

describe.skipIf(browserPath === undefined)('erasing in the console', { timeout: PATIENCE }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await startBrowser(browserPath)
  const started = await startConsoleServer()
  const { readOnly, customer, deliver, command } = started
  const open = signedInAt(browser, started)
  const erasedOf = async (orderId: string): Promise<(true | undefined)[]> => {
    const { Deliveries } = (await command(['order', 'show', orderId])) as { Deliveries: { Erased?: true }[] }
    return Deliveries.map(({ Erased }) => Erased)
  }

  it('a delivery: says what goes, what stays and what cannot be reached before it does it, and shows it then', async () => {
    const receipt = await deliver(body('PO-ONE', 'Ada'))
    await deliver(body('PO-ONE', 'Ada'))
    await deliver(body('PO-ONE', 'Bob'))
    const { page, complaints } = await open(`#/delivery/${receipt}`)
    const dialog = page.locator('dialog')
    await page.getByRole('button', { name: 'Erase delivery' }).click()
    await dialog.getByText('of 2 deliveries').waitFor()
    const said = await dialog.innerText()
    for (const text of [receipt, '0 bodies', 'Duplicates with the same bytes', 'still gets its receipt', 'backups'])
      expect(said).toContain(text)
    // That is for PostgreSQL.
    expect(said).not.toContain('VACUUM')
    expect(await axeSays(page)).toEqual([])
    await expect.poll(() => page.locator(':focus').innerText()).toBe('Cancel')
    await page.screenshot({ path: `${artefacts}erase-delivery.png` })
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await page.locator('.payload-row', { hasText: 'Ada' }).waitFor()

    await page.getByRole('button', { name: 'Erase delivery' }).click()
    await dialog.getByText('of 2 deliveries').waitFor()
    await dialog.getByRole('button', { name: 'Erase for good' }).click()
    await page.getByText('Payload, client address and request id of this delivery were erased.').waitFor()
    await expect.poll(() => page.locator('.timeline li', { hasText: 'Erased' }).count()).toBe(2)
    expect(await page.locator('.timeline li').count()).toBe(3)
    expect(await page.getByRole('button', { name: 'Erase delivery' }).count()).toBe(0)
    expect(complaints).toEqual([])
    expect((await erasedOf('PO-ONE')).filter(Boolean)).toHaveLength(2)
  })

  it('an order, in Turkish, with all its deliveries, and none of another one', async () => {
    const orderId = 'PO 2/ü'
    for (const name of ['Ada', 'Bob', 'Cem']) await deliver(body(orderId, name))
    await deliver(body('PO-OTHER', 'Dan'))
    const view = `#/order/${customer.id}/${encodeURIComponent(orderId)}`
    const { page, complaints } = await open(view, { locale: 'tr-TR' })
    await page.locator('.payload-row', { hasText: 'Cem' }).waitFor()
    await page.getByRole('button', { name: 'Siparişi sil' }).click()
    const dialog = page.locator('dialog')
    await dialog.getByText('3 bildirimin').waitFor()
    expect(await dialog.innerText()).toContain('veri deposunun yedekleri ve kopyaları')
    await page.screenshot({ path: `${artefacts}erase-order-tr.png` })
    await dialog.getByRole('button', { name: 'Kalıcı olarak sil' }).click()
    await page.getByText('istemci adresi ve istek kimliği silindi').waitFor()
    await expect.poll(() => page.locator('.timeline li', { hasText: 'Silindi' }).count()).toBe(3)
    expect(complaints).toEqual([])
    expect(await erasedOf('PO-OTHER')).toEqual([undefined])
  })

  it('shows the command where the database does not allow it, and says what is left to do', async () => {
    const receipt = await deliver(body('PO-3', 'Ada'))
    const { page } = await open(`#/delivery/${receipt}`)
    const command = `teslim delivery erase ${receipt}`
    const code = { errorCode: 'ERASE_FORBIDDEN', messageCode: 'ERASE_FORBIDDEN_RUN', messageValues: { command } }
    const Left = { Message: 'x', Code: 'PAGES_LEFT', Values: { command: `"${command}"` } }
    const answers = [
      { status: 409, json: { data: null, success: false, message: 'x', ...code, requestId: 'r-1' } },
      {
        json: {
          data: { DryRun: false, Deliveries: 1, RefusedBodies: 0, Left, Unreached: [] },
          success: true,
          message: 'OK',
        },
      },
    ]
    await page.route('**/erase', (route) =>
      route.request().postDataJSON().DryRun ? route.continue() : route.fulfill(answers.shift()),
    )
    const dialog = page.locator('dialog')
    const erase = async () => {
      await page.getByRole('button', { name: 'Erase delivery' }).click()
      await dialog.getByText('of 1 delivery').waitFor()
      await dialog.getByRole('button', { name: 'Erase for good' }).click()
    }
    await erase()
    expect(await dialog.getByRole('alert').innerText()).toContain(command)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.locator('.payload-row', { hasText: 'Ada' }).waitFor()
    await erase()
    await dialog.getByText(`run "${command}" beside the server`).waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await dialog.waitFor({ state: 'detached' })
  })

  it('is not offered to read-only operators', async () => {
    const receipt = await deliver(body('PO-5', 'Ada'))
    for (const view of [`#/delivery/${receipt}`, `#/order/${customer.id}/PO-5`]) {
      const { page } = await open(view, { email: readOnly })
      await page.locator('.payload-row', { hasText: 'Ada' }).waitFor()
      expect(await page.getByRole('button', { name: /^Erase/ }).count()).toBe(0)
    }
  })
})

import type { Locator, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { startBrowser } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { signedInAt, startConsoleServer } from '../support/browser/console.ts'

const PATIENCE = 120_000

describe.skipIf(browserPath === undefined)('the actions of the console', { timeout: PATIENCE }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await startBrowser(browserPath)
  const started = await startConsoleServer()
  const { server, readOnly, command } = started

  const open = signedInAt(browser, started)
  const newCustomer = async (email: string, ...more: string[]): Promise<string> => {
    const args = ['customer', 'add', '--email', email, '--api', '--region', 'TR', '--generate', ...more]
    return ((await command(args)) as { id: string }).id
  }
  const deliver = (apiKey: string, body: unknown) =>
    fetch(`${server.url}/Purchase/update`, { method: 'POST', headers: { apikey: apiKey }, body: JSON.stringify(body) })
  const hasFocus = (element: Locator) => element.evaluate((each) => each.matches(':focus'))
  const shownSecret = (page: Page) => page.locator('dialog .secret code').innerText()

  it('add a customer, issue a key that delivers by the command shown, and revoke it', async () => {
    const { page, complaints } = await open('#/customers')
    await page.getByRole('button', { name: 'Add customer' }).click()
    await page.getByLabel('E-mail', { exact: true }).fill('new@example.com')
    await page.getByLabel('Rules', { exact: true }).fill('SKU-*\nABC-7')
    await page.locator('dialog').getByRole('button', { name: 'Add customer' }).click()
    await page.getByRole('heading', { level: 1, name: 'new@example.com' }).waitFor()
    expect(await page.locator('.rules code').allInnerTexts()).toEqual(['ABC-7', 'SKU-*'])
    expect(await page.locator('.attention').innerText()).toContain('No live key')

    await page.getByRole('button', { name: 'Issue key' }).click()
    expect(await page.locator('dialog').innerText()).toContain('deliver as new@example.com')
    await page.getByLabel('Label', { exact: true }).fill('erp')
    await page.getByLabel('Expires after days').fill('30')
    await page.getByLabel('Networks', { exact: true }).fill('127.0.0.0/8\n203.0.113.7')
    await page.getByLabel('Deliveries a minute').fill('600')
    await page.locator('dialog').getByRole('button', { name: 'Issue key' }).click()
    await page.getByRole('heading', { name: 'The new API key' }).waitFor()
    const apiKey = await shownSecret(page)
    const sample = await page.locator('dialog pre').innerText()
    expect(sample).toContain(`-H 'ApiKey: ${apiKey}'`)
    const body = /--data-raw '(.*)'$/s.exec(sample)?.[1] ?? ''
    expect((await deliver(apiKey, JSON.parse(body))).status).toBe(200)
    expect(await page.locator('.key-table tbody tr').innerText()).toContain('600 a minute')

    await page.getByRole('button', { name: 'Close', exact: true }).click()
    expect(await page.locator('dialog [role=status]').innerText()).toContain('will not be shown again')
    await page.getByRole('button', { name: 'Close anyway' }).click()
    await page.locator('dialog').waitFor({ state: 'detached' })
    expect(await page.content()).not.toContain(apiKey)

    await page.getByRole('button', { name: 'Revoke erp' }).click()
    expect(await page.locator('dialog').innerText()).toContain(
      'Within a second this key of new@example.com stops working',
    )
    await expect.poll(() => page.locator(':focus').innerText()).toBe('Cancel')
    await page.getByRole('button', { name: 'Revoke key' }).click()
    await page.getByText('Revoked', { exact: true }).waitFor()
    await expect.poll(async () => (await deliver(apiKey, { Status: 1 })).status).toBe(401)
    expect(complaints).toEqual([])
  })

  it('rotate a key, whose successor is shown once', async () => {
    const id = await newCustomer('rotating@example.com', '--allow', '*')
    const { key } = (await command(['key', 'issue', '--customer', id, '--label', 'shop'])) as { key: string }
    const { page } = await open(`#/customer/${id}`)
    await page.getByRole('button', { name: 'Rotate shop' }).click()
    await page.getByLabel('Overlap in hours').fill('1')
    await page.getByRole('button', { name: 'Rotate key' }).click()
    await page.getByRole('heading', { name: 'The new API key' }).waitFor()
    const apiKey = await shownSecret(page)
    expect(apiKey).not.toBe(key)
    await page.getByRole('button', { name: 'Copy', exact: true }).click()
    await page.getByText('Copied.').waitFor()
    await page.getByRole('button', { name: 'Close', exact: true }).click()
    expect(await page.locator('.key-table tbody').innerText()).toContain('Replaced by a newer key')
  })

  it('add and remove rules, and say at the field what is wrong', async () => {
    const id = await newCustomer('rules@example.com', '--allow', 'OLD-1')
    const { page } = await open(`#/customer/${id}`)
    await page.getByRole('button', { name: 'Add rules' }).click()
    await page.getByRole('textbox', { name: 'Rules' }).fill('A*B')
    await page.locator('dialog').getByRole('button', { name: 'Add rules' }).click()
    await page.locator('dialog [role=alert]').waitFor()
    expect(await page.getByRole('textbox', { name: 'Rules' }).getAttribute('aria-invalid')).toBe('true')
    await expect.poll(() => page.locator(':focus').getAttribute('id')).toBe('field-Rules')
    await page.getByRole('textbox', { name: 'Rules' }).fill('NEW-*')
    await page.locator('dialog').getByRole('button', { name: 'Add rules' }).click()
    await page.locator('.rules code', { hasText: 'NEW-*' }).waitFor()
    await page.getByRole('button', { name: 'Remove OLD-1' }).click()
    expect(await page.locator('dialog').innerText()).toContain('OLD-1')
    await page.getByRole('button', { name: 'Remove rule' }).click()
    await page.locator('.rules code', { hasText: 'OLD-1' }).waitFor({ state: 'detached' })
    expect(await page.locator('.rules code').allInnerTexts()).toEqual(['NEW-*'])
  })

  it('disable and enable a customer, once however often the button is pressed', async () => {
    const id = await newCustomer('disabled@example.com', '--allow', '*')
    const { key } = (await command(['key', 'issue', '--customer', id, '--label', 'shop'])) as { key: string }
    const { page } = await open(`#/customer/${id}`)
    const sent: string[] = []
    page.on('request', (request) => request.method() === 'POST' && sent.push(new URL(request.url()).pathname))
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.locator('dialog').getByRole('button', { name: 'Disable' }).dblclick()
    await page.getByText('Disabled', { exact: true }).waitFor()
    expect(sent).toEqual([`/Operator/customer/${id}/disable`])
    await expect.poll(async () => (await deliver(key, { Status: 1 })).status).toBe(401)
    await page.getByRole('button', { name: 'Enable' }).click()
    await page.locator('dialog').getByRole('button', { name: 'Enable' }).click()
    await page.getByRole('button', { name: 'Disable' }).waitFor()
    await expect.poll(async () => (await deliver(key, { Status: 1 })).status).toBe(200)
  })

  it('name a customer and note something about it, which its page, lists and the search then show', async () => {
    const id = await newCustomer('s17@kitap.example')
    const { page, complaints } = await open(`#/customer/${id}`)
    const set = page.getByRole('button', { name: 'Change name and note' })
    await set.click()
    await page.getByLabel('Name', { exact: true }).fill('Kitap\u200bevi')
    await page.locator('dialog').getByRole('button', { name: 'Change name and note' }).click()
    await page.locator('#problem-Name').waitFor()
    await page.getByLabel('Name', { exact: true }).fill('Kitap A.Ş.')
    await page.getByLabel('Note', { exact: true }).fill('Vergi no. 12345\ncalls back after ten')
    await page.locator('dialog').getByRole('button', { name: 'Change name and note' }).click()
    await page.getByRole('heading', { level: 1, name: 'Kitap A.Ş.' }).waitFor()
    const facts = page.locator('.facts').first()
    expect(await facts.innerText()).toContain('s17@kitap.example')
    expect(await facts.innerText()).toContain('Vergi no. 12345\ncalls back after ten')

    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByLabel('Reason', { exact: true }).fill('sends test orders')
    expect(await page.locator('dialog').innerText()).toContain('Kitap A.Ş. <s17@kitap.example>')
    await page.locator('dialog').getByRole('button', { name: 'Disable' }).click()
    await facts.getByText('sends test orders').waitFor()
    await set.click()
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Kitap A.Ş.')
    expect(await page.getByLabel('Note', { exact: true }).inputValue()).toBe('Vergi no. 12345\ncalls back after ten')
    await page.keyboard.press('Escape')

    const shown = 'Kitap A.Ş. <s17@kitap.example>'
    await page.getByRole('combobox').first().fill('vergi NO')
    await page.getByRole('option', { name: shown }).waitFor()
    await page.goto(`${server.url}/console#/customers?search=kitap%20a`)
    await page.getByRole('link', { name: shown }).waitFor()
    await page.goto(`${server.url}/console#/audit?customer=${id}`)
    await page.locator('table.audit').getByText('Name changed').waitFor()
    expect(await page.locator('table.audit').innerText()).not.toContain('test orders')
    await page.locator('table.audit').getByRole('link', { name: shown }).first().waitFor()
    // What the browser says of the name that was refused.
    expect(complaints).toEqual([expect.stringContaining('400 (Bad Request)')])
  })

  it('revoke the tokens of a customer by the keyboard alone', async () => {
    const id = await newCustomer('tokens@example.com')
    const { page } = await open(`#/customer/${id}`)
    const button = page.getByRole('button', { name: 'Revoke tokens' })
    await button.waitFor()
    while (!(await hasFocus(button))) await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    expect(await hasFocus(button)).toBe(true)
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Shift+Tab')
    const answered = page.waitForResponse(`**/Operator/customer/${id}/revokeTokens`)
    await page.keyboard.press('Enter')
    expect((await answered).status()).toBe(200)
    await page.locator('dialog').waitFor({ state: 'detached' })
  })

  it('are asked for in a dialog that is open before the next key can press anything else', async () => {
    const { page } = await open(`#/customer/${await newCustomer('asked@example.com')}`)
    await page.getByRole('button', { name: 'Revoke tokens' }).waitFor()
    const isOpenAtOnce = await page.evaluate(`new Promise((resolve) => {
      const button = [...document.querySelectorAll('button')].find((each) => each.innerText === 'Revoke tokens')
      new MutationObserver(() => {
        const dialog = document.querySelector('dialog')
        if (dialog) resolve(dialog.open && !button.matches(':focus'))
      }).observe(document.body, { childList: true, subtree: true })
      button.focus()
      button.click()
    })`)
    expect(isOpenAtOnce).toBe(true)
  })

  it('are not there for a read-only operator', async () => {
    const { page } = await open(`#/customer/${await newCustomer('untouched@example.com')}`, { email: readOnly })
    await page.getByText('You are a read-only operator').waitFor()
    expect(await page.locator('main').getByRole('button').count()).toBe(0)
  })
})

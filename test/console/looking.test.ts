import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { axeSays } from '../support/browser/axe.ts'
import { startBrowser } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { filterBy, signedInAt, startConsoleServer } from '../support/browser/console.ts'

const PATIENCE = 180_000
/** Markup, which must stay text. */
const STRANGE = '<img src=x onerror=alert(1)>'

describe.skipIf(browserPath === undefined)('looking around in the console', { timeout: PATIENCE }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await startBrowser(browserPath)
  const started = await startConsoleServer({ TESLIM_KEEP_REFUSED: 'known' })
  const { server, operator, customer, deliver, command } = started

  const receipt = await deliver({ OrderID: 'PO-1', Status: 2 })
  const narrow = (await command([
    ...['customer', 'add', '--email', 'narrow@example.com', '--generate', '--allow', 'SKU-1'],
  ])) as { id: string }
  const { key, id: keyId } = (await command(['key', 'issue', '--customer', narrow.id, '--label', STRANGE])) as {
    key: string
    id: string
  }
  const refuse = async (body: unknown) => {
    const answer = await fetch(`${server.url}/Purchase/update`, {
      method: 'POST',
      headers: { apikey: key },
      body: JSON.stringify(body),
    })
    return ((await answer.json()) as { requestId: string }).requestId
  }
  const BODY = { OrderID: 'PO-9', Status: 2, Products: [{ Sku: 'SKU-2' }], Note: STRANGE }
  const requestId = await refuse(BODY)
  await refuse({ OrderID: 'PO-9', Status: 7 })
  const accepted = await deliver({ OrderID: 'PO-10', Status: 1, Products: [{ Sku: 'SKU-1' }] }, { apikey: key })
  await refuse({ OrderID: 'PO-10', Status: 7 })

  const open = signedInAt(browser, started)
  const go = (page: Page, hash: string) => page.goto(`${server.url}/console${hash}`)
  const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name })
  /** The log and the counts are written every second. */
  const untilThere = async (page: Page, text: string) => {
    const isThere = async () => {
      if (await page.locator('main').getByText(text).first().isVisible()) return true
      await page.reload()
      await page.locator('header.top').waitFor()
      return false
    }
    await expect.poll(isThere, { timeout: 30_000, interval: 1000 }).toBe(true)
  }

  it('shows refusals by code and one by one, and the refused body', async () => {
    const { page, complaints } = await open('#/refusals?customer=narrow@example.com')
    await untilThere(page, 'PRODUCT_NOT_AUTHORIZED')
    await page.locator('.codes li', { hasText: 'INVALID_REQUEST' }).waitFor()
    expect(await page.locator('.codes').innerText()).toContain('No rule covers a product')
    await page.locator('.codes button', { hasText: 'PRODUCT_NOT_AUTHORIZED' }).click()
    await page.locator('.codes [aria-pressed=true]').waitFor()
    expect(new URL(page.url()).hash).toContain('code=PRODUCT_NOT_AUTHORIZED')
    await expect.poll(() => page.locator('tr.row').count()).toBe(1)
    await page.locator('tr.row a').click()
    await heading(page, /PRODUCT_NOT_AUTHORIZED/).waitFor()
    await page.locator('main').getByText('"Note"').waitFor()
    expect(await page.locator('main img').count()).toBe(0)
    await page.goBack()
    await heading(page, 'Refusals').waitFor()
    expect(complaints).toEqual([])
  })

  it('shows an order of which every delivery was refused, found by the search box', async () => {
    const { page } = await open(`#/order/${narrow.id}/PO-9`)
    await untilThere(page, 'This API key may not deliver: SKU-2.')
    await go(page, '#/health')
    await page.getByRole('combobox', { name: 'Search' }).fill('PO-9')
    await page.locator('.found [role=option]').getByText('only refused').click()
    await expect.poll(() => new URL(page.url()).hash, { timeout: 10_000 }).toBe(`#/order/${narrow.id}/PO-9`)
    await page.locator('main p .badge', { hasText: 'Only refused' }).waitFor()
    const entries = page.locator('.timeline li')
    await expect.poll(() => entries.count(), { timeout: 30_000 }).toBe(2)
    const said = await entries.allInnerTexts()
    expect(said[0]).toMatch(/Refused INVALID_REQUEST\s+.*\/Status must be a whole number from 0 to 3\. · body kept/)
    expect(said[1]).toMatch(/Refused PRODUCT_NOT_AUTHORIZED\s+This API key may not deliver: SKU-2\./)
    await entries.last().locator('a').click()
    await page.locator('main').getByText('"Note"').waitFor()
    expect(await axeSays(page)).toEqual([])
  })

  it('shows what was accepted and refused of an order in one history', async () => {
    const { page, complaints } = await open(`#/order/${narrow.id}/PO-10`, { locale: 'tr-TR' })
    await untilThere(page, 'İstek geçerli değil: /Status 0 ile 3 arasında bir tam sayı olmalı.')
    const entries = page.locator('.timeline li')
    expect(await entries.allInnerTexts()).toEqual([
      expect.stringMatching(/Reddedildi INVALID_REQUEST\s/),
      expect.stringMatching(/^Güncellendi/),
    ])
    expect(await page.locator('main p .badge').first().innerText()).toBe('Güncellendi')
    await entries.last().locator('a').click()
    await page.locator('main').getByText(accepted).first().waitFor()
    await entries.first().locator('a').click()
    await page.locator('main .string').getByText('"PO-10"').waitFor()
    expect(complaints).toEqual([])
  })

  it('shows the audit log, with the operator of the console who acted', async () => {
    const { page, complaints } = await open(`#/customer/${narrow.id}`)
    await page.getByRole('button', { name: 'Add rules' }).click()
    await page.getByRole('textbox', { name: 'Rules' }).fill('NEW-*')
    await page.locator('dialog').getByRole('button', { name: 'Add rules' }).click()
    await page.locator('.rules code', { hasText: 'NEW-*' }).waitFor()
    await page.locator('.links').getByRole('link', { name: 'Audit' }).click()
    const row = page.locator('.audit tbody tr', { hasText: 'Rules added' })
    await row.getByText(`Rules added by ${operator}: narrow@example.com`).waitFor()
    expect(await row.innerText()).toContain('NEW-*')
    await filterBy(page, 'What happened', 'Key issued')
    await page.locator('.audit tbody tr', { hasText: 'Key issued' }).waitFor()
    await expect.poll(() => page.locator('.audit tbody tr').count()).toBe(1)
    expect(await page.locator('.audit').innerText()).not.toContain(keyId)
    await page.locator('.audit summary').click()
    await page.locator('.audit').getByRole('link', { name: keyId }).click()
    await heading(page, /narrow@example.com/).waitFor()
    expect(await page.locator('tr.marked').innerText()).toContain(keyId)
    expect(complaints).toEqual([])
  })

  it('shows in Turkish what was refused, and why', async () => {
    const { page, complaints } = await open('#/refusals?customer=narrow@example.com', { locale: 'tr-TR' })
    await untilThere(page, 'Bu API anahtarı şu ürünler için bildirim gönderemez: SKU-2.')
    await untilThere(page, 'İstek geçerli değil: /Status 0 ile 3 arasında bir tam sayı olmalı.')
    await page.locator('tr.row a').last().click()
    await page.locator('main p', { hasText: 'Bu API anahtarı şu ürünler için bildirim gönderemez: SKU-2.' }).waitFor()
    await go(page, `#/audit?requestId=${requestId}`)
    const row = page.locator('.audit tbody tr')
    await row.waitFor()
    const said = await row.innerText()
    expect(said).toContain('SKU-2 ürününe izin yok')
    expect(said).toContain('Bu API anahtarı şu ürünler için bildirim gönderemez: SKU-2.')
    expect(said).not.toMatch(/allowed|may not|messages|\{/)
    expect(complaints).toEqual([])
  })

  it('says in Turkish which field of a filter or a form is wrong', async () => {
    const { page } = await open('#/deliveries?address=203.0.113.400', { locale: 'tr-TR' })
    await page.getByText('İstek geçerli değil: Adres bir ağ değil: 203.0.113.7 gibi bir adres').waitFor()
    await go(page, `#/customer/${narrow.id}`)
    await page.locator('main').getByRole('button', { name: 'Anahtar oluştur' }).click()
    const dialog = page.locator('dialog')
    const field = dialog.getByLabel('Dakikalık bildirim sınırı')
    await field.fill('-1')
    await dialog.getByRole('button', { name: 'Anahtar oluştur' }).click()
    await dialog.getByText('0 ile 1000000 arasında bir tam sayı olmalı ya da boş bırakılmalı').waitFor()
    expect(await field.getAttribute('aria-invalid')).toBe('true')
    await field.fill('')
    await dialog.getByLabel('Ağlar').fill('10.0.0.0/33')
    await dialog.getByRole('button', { name: 'Anahtar oluştur' }).click()
    await dialog.getByText('"10.0.0.0/33" ön ek uzunluğu yanlış: 1 ile 32 arasında olabilir').waitFor()
  })

  it('says of a body that is too large how large it may be', async () => {
    await refuse({ Note: 'x'.repeat(1_048_576) })
    const { page } = await open('#/refusals')
    await untilThere(page, 'larger than 1,048,576 bytes, the value of TESLIM_BODY_LIMIT')
  })

  it('has words for every detail in the audit log, and no JSON', async () => {
    await command(['key', 'set', keyId, '--rate', '1000'])
    await command(['signing-key', 'rotate'])
    const { page, complaints } = await open('#/audit', { locale: 'tr-TR' })
    await page.locator('.audit tbody dt', { hasText: 'İmza anahtarı' }).waitFor({ state: 'attached' })
    const names = await page.locator('.audit dt').allTextContents()
    expect(names.filter((name) => /^[a-z]/.test(name))).toEqual([])
    expect(await page.locator('.audit dd', { hasText: /operator|customer/ }).count()).toBe(0)
    const row = page.locator('.audit tbody tr', { hasText: 'Hesap eklendi' }).last()
    expect(await row.innerText()).toContain('Oturum açabilir')
    expect((await page.locator('.audit dd').allInnerTexts()).filter((text) => /[{}]/.test(text))).toEqual([])
    expect(complaints).toEqual([])
  })

  it('shows what doctor says and how the last minutes were, and checks again', async () => {
    const { page, complaints } = await open('#/health')
    await page.locator('.checks').first().waitFor()
    expect(await page.locator('main').innerText()).toContain('One file (SQLite)')
    const answered = page.waitForResponse('**/Operator/health')
    await page.getByRole('button', { name: 'Check again' }).click()
    expect((await answered).status()).toBe(200)
    expect(complaints).toEqual([])
  })

  it('says in one line what is in order until somebody wants to read it, and keeps 60 places for the minutes of an hour', async () => {
    const { page } = await open('#/now')
    const minute = { Requests: 60, Refusals5xx: 0, P50Ms: 1, P99Ms: 2, EventLoopP99Ms: 1, RssBytes: 1e8, CpuPercent: 3 }
    await page.route('**/Operator/health', async (route) => {
      const answer = await (await route.fetch()).json()
      const Checks = ['disk', 'clock', 'network'].map((Name) => ({
        ...{ Name, Status: 'ok', Code: 'OF_TOMORROW', Values: {}, Message: `${Name} is fine` },
      }))
      const Minutes = [{ ...minute, At: '2026-11-21T09:07:00.000Z' }]
      await route.fulfill({ json: { ...answer, data: { ...answer.data, Checks, Minutes } } })
    })
    await go(page, '#/health')
    const summary = page.locator('main details summary')
    expect(await summary.innerText()).toMatch(/^In order\s+3\s+Disk, Clock, Network$/)
    expect(await page.getByText('disk is fine').isVisible()).toBe(false)
    await summary.click()
    expect(await page.getByText('disk is fine').isVisible()).toBe(true)
    const bars = page.locator('.bars').first()
    expect([await bars.locator('g').count(), await bars.locator('rect.plain').count()]).toEqual([60, 1])
    expect(await bars.locator('.ends').innerText()).toMatch(/^\d\d:08\s+\d\d:07$/)
    expect(await axeSays(page)).toEqual([])
  })

  it('shows in Turkish all that doctor finds', async () => {
    const { page, complaints } = await open('#/health', { locale: 'tr-TR' })
    await page.locator('main details summary').click()
    const said = await page.locator('.checks dd').allInnerTexts()
    expect(said).toEqual(
      expect.arrayContaining([
        'dosya sağlam',
        'HOST 127.0.0.1: yalnızca bu makine',
        'teslim backup henüz yedek almadı: bkz. teslim backup --help',
        expect.stringMatching(/^\S+ için [\d.,]+ GB boş yer var$/),
        expect.stringMatching(/^TESLIM_SECRET ayarlanmamış/),
      ]),
    )
    expect(said.filter((text) => / (the|is|are|of|for) /.test(text))).toEqual([])
    expect(complaints).toEqual([])
  })

  it('shows numbers, times of this zone, lists and messages in others, and a message of a newer server in English', async () => {
    const { page } = await open('#/now', { locale: 'tr-TR', timezoneId: 'Europe/Istanbul' })
    const at = '2026-11-21T21:37:25.000Z'
    const key = { code: 'KEY_ENDS', values: { id: 'k', customer: 'a@b.co', on: at } }
    const checks = [
      ['BACKUP_RECENT', { ago: 1234, at }],
      ['KEYS_EXPIRED', { count: 6, keys: [key, key, 'x', 'y', 'z', { code: 'MORE', values: { count: 1 } }] }],
      ['FROM_THE_FUTURE', {}],
    ].map(([Code, Values]) => ({ Name: 'n', Status: 'ok', Message: 'English', Code, Values }))
    await page.route('**/Operator/health', async (route) => {
      const answer = await (await route.fetch()).json()
      await route.fulfill({ json: { ...answer, data: { ...answer.data, Checks: checks } } })
    })
    await go(page, '#/health')
    await page.locator('main details summary').click()
    expect(await page.locator('.checks dd').allInnerTexts()).toEqual([
      'son yedek 1.234 saat önce alındı: 22.11.2026 00:37:25',
      '6 anahtarın süresi doldu ve yenilenmedi, başkasını verin ya da iptal edin: k, a@b.co, 22.11.2026; k, a@b.co, 22.11.2026; x; y; z; ve 1 tane daha',
      'English',
    ])
  })

  it('finds by the search box a receipt, an order, a customer by part of its e-mail address, a key and a request', async () => {
    const { page } = await open('#/health')
    for (const [text, address] of [
      [receipt, `#/delivery/${receipt}`],
      ['PO-1', `#/order/${customer.id}/PO-1`],
      ['narrow@', `#/customer/${narrow.id}`],
      [keyId, `#/customer/${narrow.id}?key=${keyId}`],
      [requestId, `#/audit?requestId=${requestId}`],
    ] as const) {
      await page.evaluate("location.hash = '#/health'")
      await heading(page, 'Health').waitFor()
      await page.keyboard.press('/')
      await page.getByRole('combobox', { name: 'Search' }).fill(text)
      await page.keyboard.press('Enter')
      await expect.poll(() => new URL(page.url()).hash, { timeout: 10_000 }).toBe(address)
    }
  })

  it('finds by arrow keys in the search box, keeps recent searches in the tab, and says what can be searched', async () => {
    const { page, complaints } = await open('#/health')
    const box = page.getByRole('combobox', { name: 'Search' })
    await box.fill('example.com')
    const options = page.locator('.found [role=option]')
    await options.nth(1).waitFor()
    expect(await page.locator('.found [role=status]').innerText()).toMatch(/found$/)
    expect(await axeSays(page)).toEqual([])
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    const chosen = page.locator('.found [aria-selected=true]')
    expect(await box.getAttribute('aria-activedescendant')).toBe(await chosen.getAttribute('id'))
    const email = await chosen.locator('.foreign').first().innerText()
    await page.keyboard.press('Enter')
    await heading(page, new RegExp(email)).waitFor()

    await page.keyboard.press('/')
    await options.filter({ hasText: 'example.com' }).waitFor()
    await page.getByRole('button', { name: 'Clear', exact: true }).click()
    await expect.poll(() => options.count()).toBe(0)

    await box.fill('nothing is called like this')
    await page.getByText('Nothing found.').waitFor()
    expect(complaints).toEqual([])
  })
})

import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import type { Page, Route } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import type { OpenApi, Operation } from '#src/docs/contract/answers.ts'
import { isForOperators } from '#src/docs/contract/page.ts'
import { fetch } from '../support/app/checked-fetch.ts'
import { failure } from '../support/app/failure.ts'
import { testApp } from '../support/app/test-app.ts'
import { axeSays, WITHOUT_COLOURS } from '../support/browser/axe.ts'
import { copiedIn, startBrowser, watchPage } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { serveSandbox } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const artefacts = fileURLToPath(new URL('../../coverage/', import.meta.url))
const PATIENCE = 120_000
const GUIDES = ['suppliers', 'tr/suppliers', 'api-customers', 'errors']
const DATA = ['reference.json', 'operators.json', ...GUIDES.map((name) => `${name}.md`)]
const TYPES: Record<string, string> = { json: 'application/json', md: 'text/markdown' }

describe('the API reference page', async () => {
  const { app } = await testApp()

  const { payload: html } = await app.inject('/docs')
  const [css = '', script = ''] = html.match(/\/docs\/page-[0-9a-f]{16}\.(?:css|js)/g) ?? []
  const packed = (url: string) => app.inject({ url, headers: { 'accept-encoding': 'br;q=0.9, gzip' } })

  it.each(DATA)('loads %s, compressed for clients that accept gzip', async (name) => {
    const url = `/docs/${name}`
    const plain = await app.inject({ url, headers: { 'accept-encoding': 'gzip;q=0' } })
    const { headers, rawPayload } = await packed(url)
    expect([plain.headers['content-encoding'], headers['content-encoding']]).toEqual([undefined, 'gzip'])
    expect(gunzipSync(rawPayload).equals(plain.rawPayload)).toBe(true)
    expect(plain.headers).toMatchObject({
      'content-type': `${TYPES[name.split('.')[1] ?? '']}; charset=utf-8`,
      'cache-control': 'no-cache',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cross-origin-resource-policy': 'same-origin',
      etag: expect.any(String),
    })
  })

  it('asks the browser to check its data again, and answers with nothing more than a 304 if they are unchanged', async () => {
    const first = await packed('/docs/reference.json')
    const plain = await app.inject('/docs/reference.json')
    const { etag } = first.headers
    expect(etag).toMatch(/^W\/"[\w-]{20,}"$/)
    expect(plain.headers.etag).toBe(etag)
    const ask = (list: string) => app.inject({ url: '/docs/reference.json', headers: { 'if-none-match': list } })
    for (const list of [etag, String(etag).slice(2), `"other", ${etag}`].map(String)) {
      const again = await ask(list)
      expect([again.statusCode, again.payload, again.headers.etag]).toEqual([304, '', etag])
    }
    const changed = await ask('"of an older version"')
    expect([changed.statusCode, changed.payload]).toEqual([200, plain.payload])
  })

  it.each(GUIDES)('shows the guide %s', async (name) => {
    expect((await app.inject(`/docs/${name}`)).payload).toBe(html)
    const { payload } = await app.inject(`/docs/${name}.md`)
    expect(payload).toBe(readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8'))
  })

  it('serves no other file', async () => {
    for (const url of [
      '/docs/page.ts',
      '/docs/page.js',
      '/docs/index.html',
      '/docs/security.md',
      '/docs/../package.json',
      '/docs/%2e%2e/docs.plugin.ts',
      '/docs/static',
    ]) {
      expect((await app.inject(url)).json()).toEqual(failure('NOT_FOUND'))
    }
  })

  it('is not there when it is turned off', async () => {
    const { app: without } = await testApp({ TESLIM_DOCS: 'off' })
    for (const url of ['/docs', '/docs/suppliers', css, script, ...DATA.map((name) => `/docs/${name}`)])
      expect((await without.inject(url)).json()).toEqual(failure('NOT_FOUND'))
  })

  it('has every route of the contract once, those for operators in a file of their own', async () => {
    const { paths } = (await app.inject('/openapi.json')).json<OpenApi>()
    const all = Object.values(paths).flatMap((methods) => Object.values(methods))
    const shown = async (name: string) => (await app.inject(`/docs/${name}.json`)).json()
    const [reference, operators] = await Promise.all(['reference', 'operators'].map(shown))
    const idsOf = (operations: readonly Operation[]) => operations.map(({ operationId }) => operationId)
    const ids = ({ operations }: { operations: { id: string }[] }) => operations.map(({ id }) => id)
    expect(ids(operators)).toEqual(idsOf(all.filter(isForOperators)))
    expect(ids(reference)).toEqual(idsOf(all.filter((operation) => !isForOperators(operation))))
    const groups = new Set(operators.operations.map(({ tag }: { tag: string }) => tag))
    const folded = reference.tags.filter(({ description }: { description?: string }) => description !== undefined)
    expect(folded.map(({ name }: { name: string }) => name)).toEqual([...groups])
  })

  it('weighs at most 30 kB of scripts and 8 kB of styles compressed, and 100 kB in all until operators open theirs', async () => {
    const weigh = async (url: string) => (await packed(url)).rawPayload.length
    expect(await weigh(script)).toBeLessThan(30_000)
    expect(await weigh(css)).toBeLessThan(8000)
    const all = await Promise.all(['/docs', script, css, '/docs/reference.json'].map((url) => app.inject(url)))
    expect(all.reduce((sum, { rawPayload }) => sum + rawPayload.length, 0)).toBeLessThan(100_000)
  })
})

/** Lists elements that end beyond the screen, where the page scrolls sideways. */
const TOO_WIDE = `[...document.querySelectorAll('body *')]
  .filter((element) => document.documentElement.scrollWidth > innerWidth && element.getBoundingClientRect().right > innerWidth)
  .map(({ tagName, className, textContent }) => tagName + '.' + className + ': ' + textContent.slice(0, 50))`

/** Lists what axe does not judge: tables without a caption, and links within the page. */
const UNLED = `[
  ...[...document.querySelectorAll('table')]
    .filter((table) => !table.caption && !table.tHead)
    .map((table) => 'no caption: ' + table.textContent.slice(0, 50)),
  ...[...document.querySelectorAll('[id]')]
    .filter(({ id }) => document.querySelectorAll('#' + CSS.escape(id)).length > 1)
    .map(({ id }) => 'id twice: ' + id),
  ...[...document.querySelectorAll('a[href*="#"]')]
    .filter(({ hash, pathname }) => pathname === location.pathname && !document.getElementById(decodeURIComponent(hash.slice(1))))
    .map(({ href }) => 'leads nowhere: ' + href),
]`

const operation = (page: Page, id: string) => page.locator(`#${id}`)

/** Sends the form of an operation and returns the status and the body that the page shows. */
async function tryIt(page: Page, id: string, body?: object): Promise<[string, unknown]> {
  const section = operation(page, id)
  if (body) await section.getByLabel('Body', { exact: true }).fill(JSON.stringify(body))
  await section.getByRole('button', { name: 'Send' }).click()
  await section.getByText(/ in \d+ ms$/).waitFor()
  await section.getByRole('button', { name: 'Send' }).waitFor()
  const status = await section.getByRole('status').innerText()
  return [status, JSON.parse(await section.getByLabel('Body of the answer').innerText())]
}

describe.skipIf(browserPath === undefined)('in a browser, the API reference page', { timeout: PATIENCE }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await startBrowser(browserPath)
  const sandbox = await serveSandbox({ cwd: tempFolder() })
  // One page for all tests: to open one costs twice as much processor time as to load it.
  const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE)
  const watched = watchPage(page)
  mkdirSync(artefacts, { recursive: true })

  /** Loads the page again. Returns a list to which errors, warnings and requests to other hosts are added from then on. */
  async function load({ server } = sandbox, viewport = { width: 1280, height: 900 }): Promise<readonly string[]> {
    await page.goto('about:blank')
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize(viewport)
    const complaints: string[] = []
    Object.assign(watched, { origin: server.url, complaints })
    await page.goto(`${server.url}/docs`)
    await page.locator('#purchaseUpdate').waitFor()
    return complaints
  }

  it('logs in, delivers and reads back by its forms, without an error or a request to another host', async () => {
    const complaints = await load()
    const credentials = { Email: sandbox.email, Password: sandbox.password, callbackData: 'from the page' }
    expect(await tryIt(page, 'login', credentials)).toMatchObject([
      expect.stringMatching(/^200 OK in/),
      { success: true, data: { callbackData: 'from the page' } },
    ])

    expect(await operation(page, 'purchaseUpdate').getByText('Enter an ApiKey first.').isVisible()).toBe(true)
    expect(await tryIt(page, 'purchaseUpdate')).toMatchObject([
      expect.stringMatching(/^401 /),
      { errorCode: 'API_KEY_MISSING' },
    ])
    await page.getByLabel('ApiKey', { exact: true }).fill(sandbox.apiKey)
    const sent = page.waitForRequest((request) => request.url().endsWith('/Purchase/update'))
    const [status, receipt] = await tryIt(page, 'purchaseUpdate')
    expect([status, receipt]).toMatchObject([expect.stringMatching(/^200 /), { data: { OrderID: 'PO-1', Status: 2 } }])
    const headers = (await sent).headers()
    // The ApiKey suffices: a token of another customer would make it a 401, an example of an Idempotency-Key a 422 next time.
    expect(headers).toMatchObject({ apikey: sandbox.apiKey })
    expect(headers).not.toHaveProperty('authorization')
    expect(headers).not.toHaveProperty('idempotency-key')

    const { ReceiptID } = (receipt as { data: { ReceiptID: string } }).data
    expect(await tryIt(page, 'purchaseDelivery')).toMatchObject([
      expect.stringMatching(/^200 /),
      { data: { ReceiptID } },
    ])
    await page.screenshot({ path: `${artefacts}docs-tried.png` })
    // The 401 above is one that the browser reports.
    expect(complaints).toEqual([expect.stringContaining('401')])
  })

  it('shows numbers as they were sent, and follows the event stream until it is told to stop', async () => {
    const complaints = await load()
    await tryIt(page, 'login', { Email: sandbox.email, Password: sandbox.password })
    await page.getByLabel('ApiKey', { exact: true }).fill(sandbox.apiKey)
    await operation(page, 'purchaseUpdate')
      .getByLabel('Body', { exact: true })
      .fill('{"OrderID":9007199254740993,"Status":1}')
    await tryIt(page, 'purchaseUpdate')
    await tryIt(page, 'purchaseDeliveryPayload')
    const payload = operation(page, 'purchaseDeliveryPayload').getByLabel('Body of the answer')
    expect(await payload.innerText()).toContain('"OrderID": 9007199254740993,')

    const feed = operation(page, 'purchaseFeed')
    await feed.getByLabel('Accept').selectOption('text/event-stream')
    await feed.getByRole('button', { name: 'Send' }).click()
    await feed.getByLabel('Body of the answer').getByText('"OrderID":"9007199254740993"').waitFor()
    await feed.getByRole('button', { name: 'Stop' }).click()
    await feed.getByRole('button', { name: 'Send' }).waitFor()
    expect(complaints.filter((complaint) => !complaint.startsWith('failed: '))).toEqual([])
  })

  it('copies a curl command that does what its form does, and masks the key on the screen', async () => {
    await load()
    await page.getByLabel('ApiKey', { exact: true }).fill(sandbox.apiKey)
    const section = operation(page, 'purchaseUpdate')
    await section.getByLabel('Body', { exact: true }).fill(`{ "OrderID": "it's $HOME", "Status": 3 }`)
    await section.getByRole('textbox', { name: 'Idempotency-Key' }).fill('once')
    expect(await section.locator('.curl').innerText()).toContain("'ApiKey: tsl_…'")
    await section.getByRole('button', { name: 'Copy the curl command' }).click()
    await section.getByText('Copied').waitFor()
    const command = await copiedIn(page)
    const run = () =>
      JSON.parse(spawnSync('sh', ['-c', command.replace('curl', 'curl -s')], { encoding: 'utf8' }).stdout)
    expect(run()).toMatchObject({ success: true, data: { OrderID: "it's $HOME", Status: 3, Duplicate: false } })
    expect(run()).toMatchObject({ success: true, data: { OrderID: "it's $HOME", Duplicate: true } })
  })

  it('masks the password on the screen, and copies it whole', async () => {
    await load()
    const section = operation(page, 'login')
    const body = section.getByLabel('Body', { exact: true })
    // The password of the example is no secret.
    expect(await section.locator('.curl').innerText()).toContain('"correct horse')
    const quoted = String.raw`pass \"word\" it's`
    for (const unfinished of [`{"Email":"a@b.co","Password":"${quoted}"}`, `{"Password" : "${quoted}`]) {
      await body.fill(unfinished)
      const shown = await section.locator('.curl').innerText()
      expect(shown).toContain('"pass…')
      expect(shown).not.toContain('word\\"')
    }
    const credentials = { Email: sandbox.email, Password: sandbox.password, callbackData: 'by curl' }
    await body.fill(JSON.stringify(credentials))
    expect(await section.locator('.curl').innerText()).not.toContain(sandbox.password)
    await section.getByRole('button', { name: 'Copy the curl command' }).click()
    await section.getByText('Copied').waitFor()
    const command = await copiedIn(page)
    const { stdout } = spawnSync('sh', ['-c', command.replace('curl', 'curl -s')], { encoding: 'utf8' })
    expect(JSON.parse(stdout)).toMatchObject({ success: true, data: { callbackData: 'by curl' } })
  })

  it('copies where the browser has no clipboard for pages, also while a dialog is open', async () => {
    await load()
    await page.evaluate('delete Navigator.prototype.clipboard')
    const copied = async (): Promise<string> => {
      await page.evaluate("document.querySelector('#login .bar button').click()")
      await operation(page, 'login').getByText('Copied').waitFor()
      return copiedIn(page)
    }
    const body = operation(page, 'login').getByLabel('Body', { exact: true })
    for (const [text, dialog] of [
      ['first', ''],
      ['second', "document.body.appendChild(document.createElement('dialog')).showModal()"],
    ] as const) {
      await body.fill(text)
      await page.evaluate(dialog)
      expect(await copied()).toContain(`--data-raw '${text}'`)
    }
  })

  it('reads an answer in a browser whose streams cannot be iterated', async () => {
    const complaints = await load()
    await page.evaluate('delete ReadableStream.prototype[Symbol.asyncIterator]')
    const credentials = { Email: sandbox.email, Password: sandbox.password }
    expect(await tryIt(page, 'login', credentials)).toMatchObject([expect.stringMatching(/^200 /), { success: true }])
    expect(complaints).toEqual([])
  })

  it('has both first calls above the fold at 1280 by 900, in the light and in the dark', async () => {
    const complaints = await load()
    for (const [colorScheme, background, part] of [
      ['light', 'rgb(255, 255, 255)', 'html'],
      ['dark', 'rgb(20, 24, 28)', '#purchaseUpdate'],
    ] as const) {
      await page.emulateMedia({ colorScheme })
      for (const name of ['Your first delivery', 'Your first login']) {
        const card = page.getByRole('region', { name })
        const { y = 0, height = 0 } = (await card.boundingBox()) ?? {}
        expect(y + height).toBeLessThan(900)
        expect(await card.locator('.curl').innerText()).toContain(`curl http://127.0.0.1`)
        const copy = (await card.getByRole('button', { name: /^Copy/ }).boundingBox()) ?? { width: 0, height: 0 }
        expect(Math.min(copy.width, copy.height)).toBeGreaterThanOrEqual(24)
      }
      expect(await page.locator('.curl').first().innerText()).toMatch(/"Status": [12],\s+"Products"/)
      expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe(background)
      expect([...(await page.evaluate<string[]>(UNLED)), ...(await axeSays(page, part))]).toEqual([])
      await page.screenshot({ path: `${artefacts}docs-${colorScheme}.png` })
    }
    expect(complaints).toEqual([])
  })

  it('loads once more by itself if a script does not come, as during an upgrade, and then says so', async () => {
    const gone = (route: Route) => route.fulfill({ status: 404, json: failure('NOT_FOUND') })
    const again = async () => {
      await page.goto('about:blank')
      await page.goto(`${sandbox.server.url}/docs#login`)
    }
    await page.route('**/docs/mark-*.svg', gone)
    await page.route('**/docs/page-*.js', gone, { times: 1 })
    await again()
    await page.locator('#login').waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    await page.route('**/docs/page-*.js', gone)
    await again()
    expect(await page.getByRole('alert').innerText()).toBe('The page could not be loaded.')
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('#login').waitFor()
  })

  it('fits a narrow screen with everything opened, and folds rare errors until then', async () => {
    const complaints = await load(sandbox, { width: 390, height: 844 })
    const rare = operation(page, 'login').getByText('HOST_MALFORMED')
    expect(await rare.isVisible()).toBe(false)
    expect(await operation(page, 'login').getByText('LOGIN_REFUSED').isVisible()).toBe(true)
    await page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true })")
    expect(await rare.isVisible()).toBe(true)
    expect(await page.evaluate(TOO_WIDE)).toEqual([])
    await page.screenshot({ path: `${artefacts}docs-narrow.png` })
    expect(complaints).toEqual([])
  })

  it('folds what operators call, and loads it when somebody opens it or follows a link to it', async () => {
    const complaints = await load()
    const asked: string[] = []
    page.on('request', (request) => {
      // The browser may ask for the icon of the page at any time.
      if (request.resourceType() === 'fetch') asked.push(new URL(request.url()).pathname)
    })
    const operators = page.locator('#operatorCustomers')
    expect([await operators.count(), await page.locator('#webhookEndpoints').count()]).toEqual([0, 0])
    await page.getByText('for operators, by their token').first().click()
    await operators.waitFor()
    expect(await page.locator('#webhookEndpoints').isVisible()).toBe(false)
    await page.getByRole('navigation').getByRole('link', { name: 'List endpoints' }).click()
    await page.locator('#webhookEndpoints').waitFor()
    expect(asked).toEqual(['/docs/operators.json'])
    expect(await axeSays(page, '#webhookEndpoints', WITHOUT_COLOURS)).toEqual([])

    // A request without a body that curl sends as a GET unless it is told otherwise.
    const pause = operation(page, 'webhookPause')
    expect(await pause.locator('.curl').innerText()).toMatch(/^curl -X POST \S+\/pause \\/)
    await tryIt(page, 'login', { Email: sandbox.email, Password: sandbox.password })
    expect(await tryIt(page, 'operatorCustomers')).toMatchObject([
      expect.stringMatching(/^403 /),
      { errorCode: 'OPERATOR_REQUIRED' },
    ])
    await page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true })")
    expect(await page.evaluate(UNLED)).toEqual([])
    expect(complaints).toEqual([expect.stringContaining('403')])

    await page.goto('about:blank')
    await page.goto(`${sandbox.server.url}/docs#operatorCustomer`)
    await page.locator('#operatorCustomer').waitFor()
    expect(await page.locator('#operatorCustomer').boundingBox()).toMatchObject({ y: expect.closeTo(15, -1) })
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await page.evaluate(TOO_WIDE)).toEqual([])
  })

  it('says when what operators call cannot be loaded, and tries again', async () => {
    await load()
    await page.route('**/docs/operators.json', (route) => route.abort(), { times: 1 })
    const group = page.getByText('for operators, by their token').first()
    await group.click()
    await page.getByRole('alert').waitFor()
    await group.click()
    await group.click()
    await page.locator('#operatorCustomers').waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  it.each([
    { path: '/docs/suppliers', link: 'Guide for suppliers', title: 'For suppliers', section: 'Send it again safely' },
    {
      path: '/docs/tr/suppliers',
      link: 'Tedarikçiler için',
      title: 'Tedarikçiler için',
      section: 'Güvenle yeniden gönderme',
    },
    { path: '/docs/api-customers', link: 'Guide for API customers', title: 'For API customers', section: 'Log in' },
  ])(
    'links to the guide at $path, with commands for this service and no dead link',
    async ({ path, link, title, section }) => {
      const complaints = await load()
      if (path === '/docs/api-customers') await page.emulateMedia({ colorScheme: 'dark' })
      await page.getByRole('link', { name: link }).click()
      await page.getByRole('heading', { name: title, level: 1 }).waitFor()
      expect(new URL(page.url()).pathname).toBe(path)
      await page.getByRole('link', { name: section, exact: true }).first().click()
      expect(await page.getByRole('heading', { name: section, exact: true }).boundingBox()).toMatchObject({
        y: expect.closeTo(15, -1),
      })
      expect(await page.locator('article pre').first().innerText()).toContain(`curl -s ${sandbox.server.url}/`)
      expect([...(await page.evaluate<string[]>(UNLED)), ...(await axeSays(page))]).toEqual([])
      const paths = (await page.evaluate(
        "[...document.querySelectorAll('article a')].map(({ href }) => href)",
      )) as string[]
      for (const href of new Set(paths)) expect([href, (await fetch(href)).status]).toEqual([href, 200])
      await page.setViewportSize({ width: 390, height: 844 })
      expect(await page.evaluate(TOO_WIDE)).toEqual([])
      expect(complaints).toEqual([])
    },
  )

  it('prints all that is folded, in the light, without contents, forms and buttons, and cuts nothing off', async () => {
    const complaints = await load(sandbox, { width: 700, height: 1000 })
    for (const path of ['/docs', '/docs/tr/suppliers']) {
      await page.goto('about:blank')
      await page.emulateMedia({ media: 'screen' })
      await page.goto(sandbox.server.url + path)
      await page.locator('main h1').waitFor()
      await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
      expect(await page.getByRole('navigation').isVisible()).toBe(false)
      expect(await page.getByRole('button').filter({ visible: true }).count()).toBe(0)
      expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)')
      expect(await page.evaluate(TOO_WIDE)).toEqual([])
      if (path === '/docs') expect(await operation(page, 'login').getByText('HOST_MALFORMED').isVisible()).toBe(true)
    }
    await page.emulateMedia({ media: 'screen' })
    expect(complaints).toEqual([])
  })

  it('delivers by the keyboard alone, with the focus in sight at every step', async () => {
    const complaints = await load()
    const focused = async () =>
      (await page.evaluate(`(() => {
        const { tagName, id, textContent } = document.activeElement
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement)
        return { name: id || textContent, tagName, outline: outlineStyle + ' ' + outlineWidth }
      })()`)) as { name: string; tagName: string; outline: string }
    const tabTo = async (wanted: (at: { name: string; tagName: string }) => boolean): Promise<void> => {
      for (let steps = 0; steps < 100; steps++) {
        await page.keyboard.press('Tab')
        const at = await focused()
        expect(at).toMatchObject({ outline: 'solid 2px' })
        if (wanted(at)) return
      }
      throw new Error('Tab does not lead there')
    }
    await tabTo(({ name }) => name === 'Skip to content')
    await page.keyboard.press('Enter')
    await tabTo(({ name }) => name === 'ApiKey')
    await page.keyboard.type(sandbox.apiKey)
    await tabTo(({ name }) => name === 'purchaseUpdate-body')
    await page.keyboard.press('Control+Enter')
    await operation(page, 'purchaseUpdate')
      .getByText(/^200 OK/)
      .waitFor()
    expect(complaints).toEqual([])
  })

  it('takes the credentials and names that the settings ask for', async () => {
    const env = {
      TESLIM_LOGIN_ANSWER: 'camel',
      TESLIM_LOGIN_EMAIL_FIELD: 'UserMail',
      TESLIM_PURCHASE_BEARER: 'required',
    }
    const otherwise = await serveSandbox({ cwd: tempFolder(), env })
    const complaints = await load(otherwise)
    const form = operation(page, 'login').getByLabel('Body', { exact: true })
    const example = JSON.parse(await form.inputValue())
    expect(Object.keys(example)).toEqual(['UserMail', 'Password', 'callbackData'])
    const credentials = { ...example, UserMail: otherwise.email, Password: otherwise.password }
    expect(await tryIt(page, 'login', credentials)).toMatchObject([expect.stringMatching(/^200 /), { data: {} }])
    await page.getByLabel('ApiKey', { exact: true }).fill(otherwise.apiKey)
    const sent = page.waitForRequest((request) => request.url().endsWith('/Purchase/update'))
    expect(await tryIt(page, 'purchaseUpdate')).toMatchObject([expect.stringMatching(/^200 /), { success: true }])
    expect((await sent).headers()).toMatchObject({ authorization: expect.stringMatching(/^Bearer ey/) })
    expect(complaints).toEqual([])
  })
})

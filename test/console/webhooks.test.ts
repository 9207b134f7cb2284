import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { axeSays } from '../support/browser/axe.ts'
import { startBrowser } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { PASSWORD, setAside, signedInAt, startConsoleServer } from '../support/browser/console.ts'
import { WEBHOOK_ALLOW } from '../support/network/allowed-ports.ts'
import { freePort } from '../support/postgres/postgres-server.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'
import { accept, startReceiver } from '../support/webhooks/webhook-receiver.ts'

const PATIENCE = 180_000
const SOON = { timeout: 30_000 }
/** Markup and a bidi override, which must stay text that can be seen. */
const STRANGE = '<img src=x onerror=alert(1)>\u202e no such article'

describe.skipIf(browserPath === undefined)('webhooks in the console', { timeout: PATIENCE }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await startBrowser(browserPath)
  const file = join(tempFolder(), 'teslim.db')
  const opsPort = await freePort()
  const settings = { ...WEBHOOK_ALLOW, DATABASE_URL: `sqlite:${file}`, TESLIM_OPS_PORT: `${opsPort}` }
  const started = await startConsoleServer(settings)
  const { server, operator, readOnly, customer, deliver, command } = started

  const open = signedInAt(browser, started)
  const add = async (url: string, ...more: string[]): Promise<string> => {
    const added = (await command(['webhook', 'add', '--url', url, ...more])) as { Endpoint: { EndpointID: string } }
    return added.Endpoint.EndpointID
  }
  const show = async (id: string) =>
    ((await command(['webhook', 'show', id])) as { Endpoint: Record<string, unknown> }).Endpoint
  const loaded = (page: Page) => expect.poll(() => page.locator('main .skeleton').count(), SOON).toBe(0)
  const go = async (page: Page, hash: string) => {
    await page.goto(`${server.url}/console${hash}`)
    await page.locator('main h1').waitFor()
    await loaded(page)
  }
  const dialog = (page: Page) => page.locator('dialog')
  const press = (page: Page, name: string) => dialog(page).getByRole('button', { name, exact: true }).click()
  const action = (page: Page, name: string) => page.locator('main').getByRole('button', { name, exact: true }).click()
  const fact = (page: Page, name: string) =>
    page.locator('.facts div', { has: page.getByText(name, { exact: true }) }).locator('dd')
  const tokenOf = async (email: string): Promise<string> => {
    const login = await fetch(`${server.url}/Login/Customer/Api/Verify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ Email: email, Password: PASSWORD }),
    })
    return ((await login.json()) as { data: { Token: string } }).data.Token
  }

  it('teach how to add the first one', async () => {
    const { page, complaints } = await open('#/webhooks')
    await page.getByText('teslim webhook add --url https://backoffice.example').waitFor()
    expect(await axeSays(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  it('are added with what the form says, and the secret is shown once', async () => {
    const { page, complaints } = await open('#/webhooks')
    const receiver = await startReceiver()
    await action(page, 'Add endpoint')
    await page.getByLabel('URL', { exact: true }).fill('http://backoffice.example/')
    await press(page, 'Add endpoint')
    expect(await dialog(page).getByRole('alert').innerText()).toContain('TESLIM_WEBHOOK_ALLOW')
    await expect.poll(() => page.locator(':focus').getAttribute('id')).toBe('field-URL')

    await page.getByLabel('URL', { exact: true }).fill(receiver.url)
    await page.getByLabel('Customer', { exact: true }).fill('nobody@example.com')
    await press(page, 'Add endpoint')
    await expect.poll(() => page.locator(':focus').getAttribute('id')).toBe('field-Customer')
    await page.getByLabel('Customer', { exact: true }).fill(customer.email)
    await page.getByLabel('1 · Updated').uncheck()
    await page.getByLabel('2 · Being processed').uncheck()
    await page.getByLabel('Include duplicates').uncheck()
    await page.getByLabel('Set a delivery aside after hours').fill('72')
    await press(page, 'Add endpoint')

    await page.getByRole('heading', { name: 'The secret of the endpoint' }).waitFor()
    const secret = await dialog(page).locator('.secret code').innerText()
    expect(secret).toMatch(/^whsec_[\w+/]{43}=$/)
    await press(page, 'Close')
    await press(page, 'Close anyway')
    await dialog(page).waitFor({ state: 'detached' })
    expect(await page.content()).not.toContain(secret)

    const id = new URL(page.url()).hash.replace('#/webhook/', '')
    expect(await show(id)).toMatchObject({
      URL: receiver.url,
      CustomerID: customer.id,
      Statuses: [0, 3],
      Duplicates: false,
      GiveUp: 259_200,
    })
    await fact(page, 'Sets a delivery aside after').getByText('3 days').waitFor()
    await deliver({ OrderID: 'ADDED-1', Status: 1 })
    const receipt = await deliver({ OrderID: 'ADDED-1', Status: 3 })
    await receiver.arrived(1)
    expect(receiver.received.map(({ id: name }) => name)).toEqual([receipt])
    // The page reads again by itself.
    await fact(page, 'Last success').locator('time').waitFor()
    await page.locator('p', { hasText: 'In the last 24 hours: 1 succeeded, 0 failed.' }).waitFor()
    await command(['webhook', 'set', id, '--header', 'X-Tenant: 7', '--header', 'X-Other: value-of-it'])
    await fact(page, 'Own headers').getByText('X-Tenant, X-Other').waitFor()
    expect(await page.content()).not.toContain('value-of-it')
    expect(complaints.filter((each) => !/\b40[04]\b/.test(each))).toEqual([])
    await command(['webhook', 'remove', id])
    await page.getByText('There is no such endpoint, or it was removed.').waitFor()
  })

  it('show what fails with its answer and its next try, and send it again', async () => {
    const receiver = await startReceiver(
      (_received, response) => void response.writeHead(500).end(`${STRANGE}\nAsk the warehouse.`),
    )
    const id = await add(receiver.url)
    const receipt = await deliver({ OrderID: 'FAILS-1', Status: 1 })
    await receiver.arrived(1)
    const { page, complaints } = await open('#/webhooks')
    const row = page.locator('tr.row', { hasText: receiver.url })
    await row.getByText('Failing').waitFor()
    await row.locator('a').click()

    const failing = page.locator('.waiting tbody tr')
    await failing.getByText('500').waitFor()
    expect(await failing.locator('td').first().innerText()).toBe('FAILS-1')
    expect(await failing.getByRole('link').getAttribute('href')).toBe(`#/delivery/${receipt}`)
    const attempt = page.locator('.attempts tbody tr').first()
    await attempt.locator('summary').click()
    expect(await attempt.locator('.answer').innerText()).toMatch(
      /^<img src=x onerror=alert\(1\)>[^\u202e]+ no such article\nAsk the warehouse\.$/,
    )
    expect(await page.locator('main img').count()).toBe(0)
    expect(await attempt.locator('summary').innerText()).toMatch(
      /^500 <img src=x onerror=alert\(1\)>\S+ no such article$/,
    )
    expect(await attempt.locator('time').getAttribute('datetime')).toMatch(/Z$/)
    // An answer that somebody reads stays open when the page reads again.
    const attempts = await page.locator('.attempts tbody tr').count()
    await expect.poll(() => page.locator('.attempts tbody tr').count(), SOON).toBeGreaterThan(attempts)
    expect(await page.locator('.attempts details[open]').count()).toBe(1)

    const before = receiver.received.length
    receiver.behave = accept
    await failing.getByRole('button', { name: 'Send again FAILS-1' }).click()
    expect(await dialog(page).innerText()).toContain(`This delivery is sent to ${receiver.url} again now`)
    await press(page, 'Send again')
    await page.locator('[role=status]', { hasText: '1 delivery is sent again.' }).waitFor()
    await expect.poll(() => receiver.received.length, SOON).toBeGreaterThan(before)
    await failing.waitFor({ state: 'detached' })
    await page.locator('h1', { hasText: 'Active' }).waitFor()
    expect(complaints).toEqual([])
    await command(['webhook', 'remove', id])
  })

  it('are failing from the first pause on wherever an operator looks, and no longer once they answer', async () => {
    const receiver = await startReceiver((_received, response) => void response.writeHead(422).end())
    const id = await add(receiver.url)
    const { page, complaints } = await open('#/webhooks')
    const token = await tokenOf(operator)
    const ask = async (path: string) => {
      const answer = await fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${token}` } })
      return ((await answer.json()) as { data: Record<string, unknown> }).data
    }
    const inHealth = (checks: unknown) =>
      (checks as { name: string; message: string }[]).find(({ name }) => name === 'webhooks')?.message
    /** What each place says of this endpoint now. */
    const places = async () => {
      const [listed] = (await command(['webhook', 'list'])) as { State: string }[]
      const { Endpoints } = (await ask('/Webhook/endpoints')) as { Endpoints: { State: string }[] }
      const doctor = (await command(['doctor'])) as { checks: unknown }
      const series = await (await globalThis.fetch(`http://127.0.0.1:${opsPort}/metrics`)).text()
      const metric = new RegExp(`^teslim_webhook_state\\{endpoint="${id}",state="(\\w+)"\\} 1$`, 'm').exec(series)?.[1]
      const states = [listed?.State, (await show(id)).State, Endpoints[0]?.State, metric]
      const badge = await page.locator('tr.row .badge').innerText()
      return [...new Set([...states, badge.toLowerCase()])].map((state) => [state, inHealth(doctor.checks)])
    }
    await deliver({ OrderID: 'PLACES-1', Status: 1 })
    await receiver.arrived(1)
    await until('it has failed', async () => (await show(id)).State === 'failing')
    await page.locator('tr.row .badge', { hasText: 'Failing' }).waitFor()
    const next = /next try \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/
    const named = expect.stringMatching(new RegExp(`^failing: ${id} since .*${next.source}`))
    expect(await places()).toEqual([['failing', named]])
    receiver.behave = accept
    await command(['webhook', 'replay', id, '--order', 'PLACES-1'])
    await until('it has taken it', async () => (await show(id)).State === 'active')
    await page.locator('tr.row .badge', { hasText: 'Active' }).waitFor()
    expect(await places()).toEqual([['active', '1 endpoint, none failing or behind']])
    expect(complaints).toEqual([])
    await command(['webhook', 'remove', id])
  })

  it('tell what became of a delivery or an order, and show the stretch that is sent again', async () => {
    const receiver = await startReceiver()
    const id = await add(receiver.url)
    const receipt = await deliver({ OrderID: 'TOLD/1', Status: 1 })
    await receiver.arrived(1)
    await until('it is confirmed', async () => (await show(id)).Pending === 0)
    // By HTTP it counts at once.
    await fetch(`${server.url}/Webhook/endpoint/${id}/pause`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await tokenOf(operator)}` },
    })
    const { page, complaints } = await open(`#/webhook/${id}`)
    await page.getByLabel('Order id or receipt').fill('TOLD/1')
    await page.keyboard.press('Enter')
    const told = page.getByRole('region', { name: 'Was it sent?' }).locator('tbody tr')
    await expect.poll(() => told.innerText(), SOON).toMatch(/Confirmed[\s\S]*20\d after [\d.,]+ ms[\s\S]*Updated/)
    expect(await told.getByRole('link').getAttribute('href')).toBe(`#/delivery/${receipt}`)
    const later = await deliver({ OrderID: 'TOLD/1', Status: 3 })
    await page.getByLabel('Order id or receipt').fill(later)
    await page.keyboard.press('Enter')
    await expect.poll(() => told.innerText(), SOON).toMatch(/Waiting[\s\S]*It is still to be sent\./)
    expect(new URL(page.url()).hash).toBe(`#/webhook/${id}?sent=${later}`)
    await page.getByLabel('Order id or receipt').fill('unknown')
    await page.keyboard.press('Enter')
    await page.getByText('There is no such order.').waitFor()

    await action(page, 'Send again…')
    await page.getByLabel('Everything in the store').check()
    await dialog(page).getByLabel('1 · Updated').uncheck()
    await press(page, 'Send again')
    await page.getByRole('heading', { name: 'Being sent again' }).waitFor()
    expect(await fact(page, 'Deliveries so far').innerText()).toBe('0')
    expect(await axeSays(page)).toEqual([])
    await action(page, 'Send again…')
    await page.getByLabel('Everything in the store').check()
    await press(page, 'Send again')
    await dialog(page).getByText('A replay of this endpoint is under way').waitFor()
    await press(page, 'Cancel')
    await action(page, 'Cancel the replay')
    await press(page, 'Cancel the replay')
    await page.locator('[role=status]', { hasText: 'The replay is cancelled.' }).waitFor()
    await page.getByRole('heading', { name: 'Being sent again' }).waitFor({ state: 'detached' })
    await action(page, 'Send again…')
    await page.getByLabel('One order').check()
    await page.getByLabel('Order id', { exact: true }).fill('TOLD/1')
    await press(page, 'Send again')
    await page.locator('[role=status]', { hasText: '1 delivery is sent again.' }).waitFor()
    expect(complaints.filter((each) => !/\b40[049]\b/.test(each))).toEqual([])
    await command(['webhook', 'remove', id])
  })

  it('are paused, tested, resumed, begun again and removed, each after a question that names what will happen', async () => {
    const receiver = await startReceiver()
    const id = await add(receiver.url)
    const first = await deliver({ OrderID: 'ACTIONS-1', Status: 1 })
    await receiver.arrived(1)
    const { page, complaints } = await open(`#/webhook/${id}`)

    await action(page, 'Pause')
    expect(await dialog(page).innerText()).toContain(`Nothing is sent to ${receiver.url} until somebody resumes it.`)
    await press(page, 'Cancel')
    expect(await show(id)).toMatchObject({ State: 'active' })
    await action(page, 'Pause')
    await press(page, 'Pause')
    await page.locator('.attention', { hasText: 'An operator paused it.' }).waitFor()
    expect(await show(id)).toMatchObject({ State: 'paused', PausedReason: 'operator' })

    await action(page, 'Send test')
    await press(page, 'Send test')
    await page.getByRole('heading', { name: 'The test succeeded' }).waitFor()
    expect(receiver.received.at(-1)?.body).toContain('"type":"teslim.test"')
    await press(page, 'Close')
    receiver.behave = (_received, response) => void response.writeHead(503).end('closed for today')
    await action(page, 'Send test')
    await press(page, 'Send test')
    await page.getByRole('heading', { name: 'The test failed' }).waitFor()
    expect(await dialog(page).innerText()).toMatch(/503[\s\S]*status 503[\s\S]*closed for today/)
    await press(page, 'Close')
    await expect.poll(() => page.locator('.attempts tbody tr', { hasText: 'Test' }).count(), SOON).toBe(2)

    receiver.behave = accept
    const second = await deliver({ OrderID: 'ACTIONS-1', Status: 3 })
    await expect.poll(() => fact(page, 'Pending').innerText(), SOON).toBe('1')
    await action(page, 'Resume')
    expect(await dialog(page).innerText()).toContain('1 delivery is pending')
    await press(page, 'Resume')
    const sent = () => receiver.received.map(({ id: name }) => name).filter((name) => !name.startsWith('test_'))
    await expect.poll(sent, SOON).toEqual([first, second])

    await expect.poll(() => fact(page, 'Pending').innerText(), SOON).toBe('0')
    await action(page, 'Send again…')
    await page.getByLabel('Everything since a point in time').check()
    await press(page, 'Send again')
    await dialog(page).getByRole('alert').waitFor()
    await page.getByLabel('Everything in the store').check()
    expect(await dialog(page).innerText()).toContain(`Everything for ${receiver.url} that the store has is sent again`)
    await press(page, 'Send again')
    await page.locator('[role=status]', { hasText: /At most \d+ deliveries are sent again\./ }).waitFor()
    await expect.poll(() => sent().slice(2), SOON).toEqual(expect.arrayContaining([first, second]))

    await action(page, 'Send again…')
    await page.getByLabel('Everything since a point in time').check()
    // The browser of the tests is in the zone of this machine.
    const hourAgo = new Date(Date.now() - 3_600_000)
    await page.getByLabel('Received from this time on').fill(localText(hourAgo))
    await press(page, 'Send again')
    await expect.poll(() => sent().filter((name) => name === second).length, SOON).toBe(3)
    await action(page, 'Send again…')
    await page.getByLabel('One delivery').check()
    await page.getByLabel('Receipt', { exact: true }).fill('unknown')
    await press(page, 'Send again')
    await dialog(page).getByText('There is no such delivery.').waitFor()
    await page.getByLabel('Receipt', { exact: true }).fill(first)
    await press(page, 'Send again')
    await expect.poll(() => sent().filter((name) => name === first).length, SOON).toBe(4)

    await action(page, 'Replace secret')
    await page.getByLabel('Overlap in hours').fill('1')
    await press(page, 'Replace secret')
    expect(await dialog(page).locator('.secret code').innerText()).toMatch(/^whsec_/)
    await press(page, 'Copy')
    await dialog(page).getByText('Copied.').waitFor()
    await press(page, 'Close')
    await command(['webhook', 'test', id])
    expect(receiver.received.at(-1)?.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/)

    await action(page, 'Remove')
    expect(await dialog(page).innerText()).toContain('This cannot be undone')
    await expect.poll(() => page.locator(':focus').innerText()).toBe('Cancel')
    await press(page, 'Remove')
    await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor()
    expect(await command(['webhook', 'list'])).toEqual([])
    expect(complaints.filter((each) => !/\b40[04]\b/.test(each))).toEqual([])
  })

  describe('with deliveries that are set aside', () => {
    let receiver: Awaited<ReturnType<typeof startReceiver>>
    let receipts: string[]
    let id = ''

    beforeEach(async () => {
      receiver = await startReceiver()
      receipts = []
      id = await add(receiver.url, '--customer', customer.email)
      for (const OrderID of ['ASIDE-1', 'ASIDE-2']) receipts.push(await deliver({ OrderID, Status: 1 }))
      await receiver.arrived(2)
      await until('both are confirmed', async () => (await show(id)).Pending === 0)
      await command(['webhook', 'pause', id])
      setAside(file, id, receipts)
    }, PATIENCE)
    afterEach(() => command(['webhook', 'remove', id]))

    it('stand in the address, and are found by URL, customer and state', async () => {
      const other = await add('http://127.0.0.1:9/other')
      const { page, complaints } = await open('#/webhooks?state=paused')
      const rows = page.locator('tr.row')
      await expect.poll(() => rows.count(), SOON).toBe(1)
      expect(await rows.innerText()).toContain(receiver.url)
      await go(page, '#/webhooks?search=other')
      await expect.poll(() => rows.locator('a').allInnerTexts(), SOON).toEqual(['http://127.0.0.1:9/other'])
      await page.locator('.chip').getByRole('button', { name: 'other' }).click()
      await page.locator('input[name=search]').fill(customer.email)
      await page.keyboard.press('Enter')
      await expect.poll(() => rows.locator('a').allInnerTexts(), SOON).toEqual([receiver.url])
      expect(new URL(page.url()).hash).toBe(`#/webhooks?search=${encodeURIComponent(customer.email)}`)

      await rows.locator('a').focus()
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: '24 hours' }).click()
      expect(new URL(page.url()).hash).toBe(`#/webhook/${id}?range=day`)
      await page.locator('.bars tbody tr').nth(23).waitFor({ state: 'attached' })
      expect(await page.locator('.bars tbody tr').count()).toBe(24)
      await page.keyboard.press('g')
      await page.keyboard.press('w')
      await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor()
      expect(complaints).toEqual([])
      await command(['webhook', 'remove', other])
    })

    it('are not read while Live is off, and are read at once when it is on again', async () => {
      const { page } = await open('#/health')
      await page.clock.install()
      await go(page, '#/webhooks')
      await page.locator('tr.row').waitFor()
      let reads = 0
      page.on('request', (request) => {
        if (request.url().endsWith('/Webhook/endpoints')) reads++
      })
      const again = async () => {
        await page.clock.fastForward('00:10')
        return reads
      }
      await expect.poll(again, SOON).toBeGreaterThan(1)
      await page.getByRole('button', { name: 'Live', exact: true }).click()
      await page.getByRole('button', { name: 'Paused', exact: true }).waitFor()
      const other = await add('http://127.0.0.1:9/other')
      const before = reads
      await page.clock.fastForward('01:00')
      expect([reads, await page.locator('tr.row').count()]).toEqual([before, 1])
      await page.getByRole('button', { name: 'Paused', exact: true }).click()
      await expect.poll(() => page.locator('tr.row').count(), SOON).toBe(2)
      await command(['webhook', 'remove', other])
    })

    it('show read-only operators everything and no actions', async () => {
      const { page, complaints } = await open(`#/webhook/${id}`, { email: readOnly })
      await page.getByText('You are a read-only operator').waitFor()
      await page.locator('.waiting tbody tr').nth(1).waitFor()
      // Those that copy a time or an id change nothing.
      const buttons = await page.locator('main button:not(.only, .copy)').allInnerTexts()
      expect(buttons).toEqual(['1 hour', '24 hours', 'Look up'])
      await go(page, '#/webhooks')
      await page.locator('tr.row').waitFor()
      expect(await page.locator('main button:not(.filters button, .only)').count()).toBe(0)
      expect(complaints).toEqual([])
    })

    it('are printed without buttons, and are all sent again by the keyboard alone', async () => {
      const { page, complaints } = await open(`#/webhook/${id}`)
      const rows = page.locator('.waiting tbody tr')
      await rows.nth(1).waitFor()
      expect(await rows.first().innerText()).toMatch(/^ASIDE-1\s+no answer within 15 s\s+7\s+2 hours ago/)
      await page.emulateMedia({ media: 'print' })
      expect([await page.locator('main .buttons').first().isVisible(), await rows.first().isVisible()]).toEqual([
        false,
        true,
      ])
      await page.emulateMedia({ media: 'screen' })
      const button = page.getByRole('button', { name: 'Send all that is set aside again' })
      while (!(await button.evaluate((each) => each.matches(':focus')))) await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      expect(await dialog(page).innerText()).toContain(
        `2 deliveries that are set aside are sent to ${receiver.url} again`,
      )
      await page.keyboard.press('Enter')
      await page.locator('[role=status]', { hasText: '2 deliveries are sent again.' }).waitFor()
      await rows.first().waitFor({ state: 'detached' })
      expect(await show(id)).toMatchObject({ SetAside: 0, Waiting: 2 })
      await command(['webhook', 'resume', id])
      await expect.poll(() => receiver.received.length, SOON).toBe(4)
      expect(receiver.received.slice(2).map(({ id: name }) => name)).toEqual(expect.arrayContaining(receipts))
      await page.goto(`${server.url}/console#/audit?action=webhook.replay`)
      await page.locator('.audit summary').first().click()
      await page.locator('.details').getByRole('link', { name: id }).first().click()
      await page.locator('h1', { hasText: receiver.url }).waitFor()
      expect(complaints).toEqual([])
    })
  })
})

/** A time as a field of the page wants it. */
function localText(time: Date): string {
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { axeSays } from '../support/browser/axe.ts'
import { startBrowser } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { openConsole, PASSWORD, signIn, startConsoleServer } from '../support/browser/console.ts'

const PATIENCE = 180_000
const MINUTE = 60_000

const headingOf = (page: Page) => page.locator('main h1').innerText()
const whoIn = (page: Page) => page.locator('header.top .menu summary').innerText()
const isAsked = (page: Page) => page.locator('.sign-in input[name=password]').waitFor()
const signOut = async (page: Page) => {
  await page.locator('header.top .menu summary').click()
  await page.getByRole('button', { name: 'Sign out' }).click()
}

/** Lets a tab tell the others nothing, as where a browser has no channel. */
const MUTE = 'BroadcastChannel.prototype.postMessage = () => undefined'

const REAUTHENTICATION = { success: false, data: null, errorCode: 'REAUTHENTICATION_REQUIRED', message: '' }

describe.skipIf(browserPath === undefined)('one sign-in to the console', { timeout: PATIENCE }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await startBrowser(browserPath)
  const { server, operator, readOnly, customer, deliver, command } = await startConsoleServer()
  await deliver({ OrderID: 'PO-77', Status: 1 })

  /** Its tokens end soon. */
  const brief = await startConsoleServer({ TESLIM_TOKEN_TTL: '4' })

  const open = async (view = '', email = operator) => {
    const opened = await openConsole(browser, server, view)
    await signIn(opened.page, email)
    return opened
  }
  const openBeside = async (page: Page, view = '') => {
    const other = await page.context().newPage()
    await other.goto(`${server.url}/console${view}`)
    return other
  }
  /** Opens an order by the search, which then knows its number. */
  const searchFor = async (page: Page, order: string) => {
    await page.getByRole('combobox', { name: 'Search' }).fill(order)
    await page.getByRole('option', { name: order }).first().click()
    expect(await recentOf(page)).toContain(order)
  }
  const recentOf = (page: Page) => page.evaluate(`sessionStorage.getItem('teslim.console.recent')`)
  const endAll = (email: string) => command(['token', 'revoke', '--customer', email])
  /** Opens the form for a new key, with something in it. */
  const beginKey = async (page: Page) => {
    await page.getByRole('button', { name: 'Issue key' }).click()
    await page.getByLabel('Label', { exact: true }).fill('half-filled')
  }

  it('is known to the browser alone: no script, storage or message of the console has its reference or a token', async () => {
    const said: string[] = []
    const { page } = await openConsole(browser, server)
    page.on('console', (message) => said.push(message.text()))
    await signIn(page, operator)
    await page.reload()
    await page.locator('header.top').waitFor()
    const [cookie] = await page.context().cookies()
    expect(cookie).toMatchObject({ name: 'teslim-dev', httpOnly: true, sameSite: 'Strict', path: '/' })
    const seen = await page.evaluate(
      'JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }, history.state, location.href, document.documentElement.outerHTML])',
    )
    const databases = await page.evaluate('indexedDB.databases().then((all) => all.length)')
    for (const text of [String(seen), ...said]) {
      expect(text).not.toContain(cookie?.value ?? 'a cookie')
      expect(text).not.toContain('eyJ')
    }
    expect(databases).toBe(0)
  })

  it('begins in all tabs, and signing out ends all of them and forgets what was searched for', async () => {
    const { page } = await openConsole(browser, server, '#/audit')
    const other = await openBeside(page, '#/orders')
    await isAsked(other)
    await signIn(page, operator)
    await other.getByRole('heading', { name: 'Orders' }).waitFor()
    await searchFor(other, 'PO-77')
    // A reload, and a new tab, need no password.
    await other.reload()
    await other.getByRole('combobox', { name: 'Search' }).click()
    await other.getByRole('option', { name: 'PO-77' }).waitFor()
    const third = await openBeside(page, '#/health')
    await third.getByRole('heading', { name: 'Health' }).waitFor()
    expect(await whoIn(third)).toContain(operator)
    await signOut(page)
    for (const each of [page, other, third]) {
      await isAsked(each)
      expect(await each.getByRole('status').innerText()).toBe('You have signed out.')
      expect(await recentOf(each)).not.toContain('PO-77')
    }
    await other.reload()
    await isAsked(other)
    expect(await page.context().cookies()).toEqual([])
  })

  it('that ends stops the live view of another tab within a second, also of one that hears nothing of it', async () => {
    const { page } = await open()
    await page.addInitScript(MUTE)
    await page.reload()
    await page.locator('header.top').waitFor()
    const other = await openBeside(page)
    await other.clock.install()
    await other.reload()
    await other.locator('button.live.live').waitFor()
    await other.clock.pauseAt(Date.now() + MINUTE)
    await signOut(page)
    // The server ends the stream, half a second later at most (test/token/access-watch.test.ts), and the tab asks after another half.
    await other.locator('button.live', { hasText: 'Connection lost' }).waitFor()
    await other.clock.runFor(500)
    await isAsked(other)
  })

  it('that is ended by others leaves a half-filled form, which is sent by nobody but its user, and a key that is shown once, hidden', async () => {
    const { page } = await open(`#/customer/${customer.id}`)
    await beginKey(page)
    const keys = () => command(['key', 'list', '--customer', customer.email]) as Promise<object[]>
    const before = (await keys()).length
    await endAll(operator)
    await isAsked(page)
    await signIn(page, operator)
    const dialog = page.locator('dialog')
    await dialog.waitFor()
    expect(await page.getByLabel('Label', { exact: true }).inputValue()).toBe('half-filled')
    expect(await keys()).toHaveLength(before)
    await dialog.getByRole('button', { name: 'Issue key' }).click()
    const key = await dialog.locator('.secret code').innerText()
    expect(await keys()).toHaveLength(before + 1)

    await endAll(operator)
    await isAsked(page)
    expect(await dialog.isVisible()).toBe(false)
    expect(await page.locator('body').innerText()).not.toContain(key)
    expect(await page.locator('input[name=email]').inputValue()).toBe(operator)
    expect(await axeSays(page)).toEqual([])
    // No key of the keyboard acts on what is hidden.
    await page.locator('.sign-in h1').click()
    await page.keyboard.press('?')
    await signIn(page, operator)
    await dialog.locator('.secret code', { hasText: key }).waitFor()
    await page.keyboard.press('Escape')
    expect(await dialog.locator('[role=status]').innerText()).toContain('will not be shown again')
  })

  it('leaves nothing after ten minutes', async () => {
    const { page } = await openConsole(browser, server, `#/customer/${customer.id}`)
    await page.clock.install()
    await page.reload()
    await signIn(page, operator)
    await beginKey(page)
    await endAll(operator)
    await page.clock.runFor(2000)
    await isAsked(page)
    await page.clock.runFor(10 * MINUTE)
    expect(await page.locator('dialog, header.top').count()).toBe(0)
  })

  it('by somebody else discards all that was held, in every tab, before anything is drawn', async () => {
    const { page } = await open()
    const other = await openBeside(page, '#/audit')
    await searchFor(page, 'PO-77')
    await page.goto(`${server.url}/console#/customer/${customer.id}`)
    await beginKey(page)
    await other.getByRole('heading', { name: 'Audit' }).waitFor()
    await page.evaluate('window.isOld = true')
    await endAll(operator)
    for (const each of [page, other]) await isAsked(each)
    // What the first one had is not drawn, not even for a moment.
    await page.evaluate(`new MutationObserver(() => {
      if (document.querySelector('header.top')?.checkVisibility()) console.error('drawn')
    }).observe(document.getElementById('app'), { childList: true, subtree: true, attributes: true })`)
    const said: string[] = []
    page.on('console', (message) => said.push(message.text()))
    await signIn(page, readOnly)
    expect(await whoIn(page)).toContain(readOnly)
    expect(await page.locator('dialog').count()).toBe(0)
    expect(await page.evaluate('window.isOld')).toBe(undefined)
    expect(await recentOf(page)).not.toContain('PO-77')
    expect(said).not.toContain('drawn')
    await other.reload()
    await other.locator('header.top').waitFor()
    expect(await whoIn(other)).toContain(readOnly)
  })

  it('by somebody else replaces what other tabs show', async () => {
    const { page } = await open(`#/customer/${customer.id}`)
    const other = await openBeside(page, '#/orders')
    await other.getByRole('heading', { name: 'Orders' }).waitFor()
    await beginKey(page)
    await other.evaluate(
      `window.fetch('/console/session', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ Email: '${readOnly}', Password: '${PASSWORD}' }),
      }).then((answer) => answer.json()).then(({ data }) =>
        new BroadcastChannel('teslim.session').postMessage({ what: 'began', customer: data.Session.Customer.CustomerID }))`,
    )
    for (const each of [page, other]) {
      await each.locator('header.top .menu summary', { hasText: readOnly }).waitFor()
      expect(await each.locator('dialog').count()).toBe(0)
    }
  })

  it('by somebody else does not show what was searched for in a tab that heard nothing of it', async () => {
    const { page } = await open()
    const other = await openBeside(page)
    await searchFor(other, 'PO-77')
    await other.goto(`${server.url}/livez`)
    await signOut(page)
    await signIn(page, readOnly)
    await other.goto(`${server.url}/console`)
    expect(await whoIn(other)).toContain(readOnly)
    await other.getByRole('combobox', { name: 'Search' }).click()
    expect(await other.locator('.found [role=option]').count()).toBe(0)
    expect(await recentOf(other)).not.toContain('PO-77')
  })

  const askForToken = async (page: Page) =>
    (await page.evaluate(
      `window.fetch('/console/session/token', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"Active":false}',
      }).then((answer) => answer.json())`,
    )) as { data: { Session: { Customer: { CustomerID: string } } } }
  /** Lets a tab ask for a token. It gets an answer at the end of `release`. */
  const holdToken = async (page: Page, beside: Page, answer: { data: object }) => {
    const { CustomerID } = (await askForToken(beside)).data.Session.Customer
    const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await page.route(
      '**/console/session/token',
      async (route) => {
        asked.resolve()
        await held.promise
        await route.fulfill({ json: { success: true, ...answer } })
      },
      { times: 1 },
    )
    await beside.evaluate(
      `const channel = new BroadcastChannel('teslim.session')
      for (let time = 0; time < 2; time++) channel.postMessage({ what: 'began', customer: '${CustomerID}' })`,
    )
    await asked.promise
    return async () => {
      await Promise.all([page.waitForResponse('**/console/session/token'), held.resolve()])
      await page.evaluate(`window.fetch('/livez').then(() => new Promise(requestAnimationFrame))`)
    }
  }

  it('is not begun again by a token that was asked for before somebody signed out, here or in another tab', async () => {
    const { page } = await open()
    const other = await openBeside(page)
    await other.locator('header.top').waitFor()
    for (const leaving of [page, other]) {
      const release = await holdToken(page, other, await askForToken(other))
      // The server hears of it last.
      const heard = Promise.withResolvers<void>()
      await leaving.route('**/console/session/end', (route) => heard.promise.then(() => route.continue()))
      await signOut(leaving)
      await isAsked(page)
      await release()
      expect(await page.locator('header.top').count()).toBe(0)
      await Promise.all([leaving.waitForResponse('**/console/session/end'), heard.resolve()])
      await signIn(page, operator)
      await other.locator('header.top').waitFor()
    }
  })

  it('is not ended by an answer about the session before it', async () => {
    const { page } = await open(`#/customer/${customer.id}`)
    const other = await openBeside(page)
    await page.route('**/keys', (route) => route.fulfill({ status: 403, json: REAUTHENTICATION }), { times: 1 })
    await beginKey(page)
    await page.locator('dialog').getByRole('button', { name: 'Issue key' }).click()
    await page.getByRole('heading', { name: 'Enter your password again' }).waitFor()
    const release = await holdToken(page, other, { data: { Possible: true, Session: null } })
    await page.locator('dialog input[name=password]').fill(PASSWORD)
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.locator('dialog .secret code').waitFor()
    await release()
    expect(await page.locator('dialog .secret code').isVisible()).toBe(true)
  })

  it('that ends ends an action on several: whoever signs in next is asked first, even if an answer comes only then', async () => {
    const { page } = await open(`#/customer/${customer.id}`)
    const labels = ['one', 'two', 'three', 'four']
    for (const label of labels) await command(['key', 'issue', '--customer', customer.email, '--label', label])
    await page.reload()
    for (const label of labels) await page.getByRole('row', { name: label }).getByRole('checkbox').check()
    // The session ends before the server gets the first and the second request, and after the third and the fourth.
    const steps = [
      { isDone: false, state: '0 of 4 done, 1 not.', answered: 'before somebody signs in' },
      { isDone: false, state: '0 of 4 done, 1 not.', answered: 'after that' },
      { isDone: true, state: '1 of 4 done, 1 not.', answered: 'before somebody signs in' },
      { isDone: true, state: '2 of 4 done, 1 not.', answered: 'after that' },
    ].map((step) => ({ ...step, answer: Promise.withResolvers<void>() }))
    let sent = 0
    await page.route('**/revoke', async (route) => {
      const step = steps[sent++]
      if (step === undefined) return route.continue()
      if (!step.isDone) await endAll(operator)
      const response = await route.fetch()
      if (step.isDone) await endAll(operator)
      await step.answer.promise
      await route.fulfill({ response })
    })
    await page.locator('.chosen').getByRole('button', { name: 'Revoke' }).click()
    const dialog = page.locator('dialog')
    await dialog.getByRole('button', { name: 'Revoke' }).click()
    for (const [number, { state, answered, answer }] of steps.entries()) {
      await isAsked(page)
      if (answered === 'after that') await signIn(page, operator)
      answer.resolve()
      await dialog.getByText(state).waitFor({ state: 'attached' })
      await dialog.locator('[aria-busy=false]').waitFor({ state: 'attached' })
      if (answered !== 'after that') await signIn(page, operator)
      await dialog.getByText(state).waitFor()
      expect(sent).toBe(number + 1)
      await dialog.getByRole('button', { name: 'Try again' }).click()
    }
    await dialog.waitFor({ state: 'detached' })
    expect(sent).toBe(6)
  })

  /** A tab with a clock of its own. `change` is JavaScript that changes what the server says of the session. */
  const openWithClock = async (change = '') => {
    const { page } = await openConsole(browser, server)
    await page.clock.install()
    await page.addInitScript(`
      const original = window.fetch
      window.change = (session) => { ${change} }
      window.asked = []
      window.fetch = async (path, options) => {
        const answer = await original(path, options)
        if (path !== '/console/session/token') return answer
        asked.push(JSON.parse(options.body).Active)
        const body = await answer.json()
        const { Session } = body.data
        const changed = Session && window.change(Session)
        body.data.Session = changed === undefined ? Session : changed
        return Response.json(body)
      }`)
    await page.reload()
    await signIn(page, operator)
    const asked = () => page.evaluate('asked.slice(1)')
    const answerNormally = () => page.evaluate('window.change = () => undefined')
    return { page, asked, answerNormally }
  }

  it('goes on with the next token, and lasts longer only if a key or a button was pressed', async () => {
    const { page, asked } = await openWithClock()
    const untilAsked = (count: number) => expect.poll(asked).toHaveLength(count)
    await page.clock.runFor(5 * MINUTE)
    await untilAsked(1)
    await page.clock.runFor(5 * MINUTE)
    await untilAsked(2)
    await page.keyboard.press('Shift')
    await page.clock.runFor(5 * MINUTE)
    await untilAsked(3)
    await page.clock.runFor(5 * MINUTE)
    await untilAsked(4)
    // Signing in had pressed some.
    expect(await asked()).toEqual([true, false, true, false])
    expect(await page.locator('.live').innerText()).not.toBe('Reconnecting')
    expect(await headingOf(page)).toBe('Now')
  })

  it('keeps the live view when a token ends: it goes on with the next one, and nobody sees that', async () => {
    const { page } = await openConsole(browser, brief.server)
    await signIn(page, brief.operator)
    await page.locator('button.live.live').waitFor()
    await page.evaluate(`
      window.seen = new Set()
      const button = document.querySelector('button.live')
      const see = () => seen.add(button.innerText)
      new MutationObserver(see).observe(button, { childList: true, subtree: true, characterData: true, attributes: true })`)
    const opened = `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/Operator/live')).length`
    await expect.poll(() => page.evaluate(opened), { timeout: 60_000 }).toBeGreaterThanOrEqual(2)
    await page.locator('.tile strong:not(:has(.skeleton))').first().waitFor()
    expect(await page.evaluate('[...seen].filter((text) => text !== "Live")')).toEqual([])
  })

  it('is not begun again by a question that the server did not answer before somebody signed out', async () => {
    const { page } = await openWithClock()
    const held = Promise.withResolvers<void>()
    const asked: unknown[] = []
    await page.route('**/console/session/token', (route) => {
      asked.push(route)
      return held.promise.then(() => route.abort())
    })
    await page.route('**/console/session/end', (route) => route.abort())
    await page.clock.runFor(5 * MINUTE)
    await expect.poll(() => asked).toHaveLength(1)
    await signOut(page)
    await page.getByText('The server did not answer, so you may still be signed in.').waitFor()
    await Promise.all([page.waitForEvent('requestfailed'), held.resolve()])
    await page.clock.runFor(MINUTE)
    await page.evaluate(`window.fetch('/livez').then(() => undefined)`)
    expect(asked).toHaveLength(1)
  })

  it('asks before it ends whether somebody is there, and goes on at any key', async () => {
    const { page, asked, answerNormally } = await openWithClock('session.IdleSeconds = 110')
    await page.clock.runFor(5 * MINUTE)
    await page.getByRole('heading', { name: 'Are you still there?' }).waitFor()
    expect(await axeSays(page)).toEqual([])
    await answerNormally()
    await page.getByRole('button', { name: 'Stay signed in' }).click()
    await page.locator('dialog').waitFor({ state: 'detached' })
    expect(await asked()).toEqual([true, true])
    expect(await headingOf(page)).toBe('Now')
  })

  it('that nobody prolongs ends after the question', async () => {
    const { page } = await openWithClock('if (asked.length > 2) return null; session.IdleSeconds = 110')
    await page.clock.runFor(5 * MINUTE)
    await page.getByRole('heading', { name: 'Are you still there?' }).waitFor()
    await page.clock.runFor(2 * MINUTE)
    await isAsked(page)
    expect(await page.locator('dialog').count()).toBe(0)
    expect(await page.getByRole('status').innerText()).toContain('Your session has ended.')
  })

  it('asks for the password before its twelve hours end', async () => {
    const { page, answerNormally } = await openWithClock('session.IdleSeconds = session.EndSeconds = 110')
    await page.clock.runFor(5 * MINUTE)
    await page.getByRole('heading', { name: 'The session ends in two minutes' }).waitFor()
    await answerNormally()
    await page.locator('dialog input[name=password]').fill(PASSWORD)
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.locator('dialog').waitFor({ state: 'detached' })
    await page.clock.runFor(5 * MINUTE)
    expect(await whoIn(page)).toContain(operator)
  })

  it('asks for the password again before a key is issued, and then issues it', async () => {
    const { page } = await open(`#/customer/${customer.id}`)
    const other = await openBeside(page, '#/audit')
    await other.getByRole('heading', { name: 'Audit' }).waitFor()
    await page.route(
      '**/keys',
      (route) =>
        route.fulfill({
          status: 403,
          json: REAUTHENTICATION,
        }),
      { times: 2 },
    )
    await beginKey(page)
    const issue = page.locator('dialog').getByRole('button', { name: 'Issue key' })
    await issue.click()
    const heading = page.getByRole('heading', { name: 'Enter your password again' })
    await heading.waitFor()
    expect(await page.locator(':focus').getAttribute('name')).toBe('password')
    expect(await axeSays(page)).toEqual([])
    await page.keyboard.press('Escape')
    await heading.waitFor({ state: 'detached' })
    await page.locator('dialog [role=alert]').waitFor()
    expect(await page.getByLabel('Label', { exact: true }).inputValue()).toBe('half-filled')
    await page.getByRole('button', { name: 'Issue key' }).last().click()
    await heading.waitFor()
    await page.locator('dialog input[name=password]').fill('wrong')
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.locator('dialog [role=alert]', { hasText: 'This is not your password.' }).waitFor()
    await page.locator('dialog input[name=password]').fill(PASSWORD)
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.locator('dialog .secret code').waitFor()
    // The other tab goes on, with the new session.
    await other.getByRole('link', { name: 'Now' }).click()
    await other.locator('.plot').waitFor()
  })
})

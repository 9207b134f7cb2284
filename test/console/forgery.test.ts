import { once } from 'node:events'
import { createServer as createPlainServer, type RequestListener, type Server } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type BrowserContext, chromium } from 'playwright-core'
import { afterAll, describe, expect, it } from 'vitest'
import { ARGUMENTS } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { PASSWORD, signIn, startConsoleServer } from '../support/browser/console.ts'
import { makeCertificate, storeCertificate } from '../support/network/certificate.ts'
import { tempFolder } from '../support/temp-folder.ts'

const PATIENCE = 120_000
const ROUTES = ['/console/session', '/console/session/token', '/console/session/end']

/** Serves an empty page, with cookies as the query of its address has them. Returns its port. */
async function servePage(make: (listener: RequestListener) => Server): Promise<number> {
  const server = make(({ url = '' }, response) => {
    const cookies = new URL(url, 'http://localhost').searchParams.getAll('cookie')
    response.setHeader('set-cookie', cookies).setHeader('content-type', 'text/html')
    // Beside a body of bytes the head goes out as latin1, so that a cookie may have any byte.
    response.end(Buffer.from('<!doctype html><title>a page</title>'))
  }).listen(0, '127.0.0.1')
  afterAll(() => server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

describe.skipIf(browserPath === undefined)('a page of another host', { timeout: PATIENCE }, async () => {
  if (browserPath === undefined) return it('needs a browser', () => undefined)
  const browser = await chromium.launch({
    executablePath: browserPath,
    args: [...ARGUMENTS, '--host-resolver-rules=MAP *.teslim.test 127.0.0.1', '--ignore-certificate-errors'],
  })
  afterAll(() => browser.close())
  const made = makeCertificate({ names: ['console.teslim.test', 'evil.teslim.test'] })
  const secure = await startConsoleServer(storeCertificate(tempFolder(), made))
  const plain = await startConsoleServer()
  const at = (host: string, { url }: { readonly url: string }) => {
    const address = new URL(url)
    address.hostname = host
    return address.origin
  }
  const [ours, local] = [at('console.teslim.test', secure.server), plain.server.url]
  const evil = `https://evil.teslim.test:${await servePage((listener) => createServer({ cert: made.certificate, key: made.key }, listener) as unknown as Server)}`
  const evilPort = `http://127.0.0.1:${await servePage((listener) => createPlainServer(listener))}`

  const open = async (origin: string) => {
    const context = await browser.newContext({ locale: 'en-GB' })
    const page = await context.newPage()
    await page.goto(`${origin}/console#/audit`)
    return { context, page }
  }
  const signedIn = async (origin: string) => {
    const opened = await open(origin)
    await signIn(opened.page, secure.operator)
    return opened
  }
  /** Sends all that a page can send to a route of another origin. */
  const attack = async (context: BrowserContext, from: string, target: string) => {
    const answers: string[] = []
    const page = await context.newPage()
    page.on('response', (answer) => answers.push(`${new URL(answer.url()).pathname} ${answer.status()}`))
    const body = JSON.stringify({ Email: secure.operator, Password: PASSWORD, Active: true })
    for (const route of ROUTES) {
      await page.goto(from)
      const [url, sent] = [JSON.stringify(target + route), JSON.stringify(body)]
      await page.evaluate(`(async () => {
        const send = (options) =>
          window.fetch(${url}, { method: 'POST', credentials: 'include', body: ${sent}, ...options }).catch(() => undefined)
        await send({ mode: 'no-cors' })
        await send({ mode: 'no-cors', headers: { 'content-type': 'text/plain' } })
        await send({ headers: { 'content-type': 'application/json' } })
        navigator.sendBeacon(${url}, ${sent})
        await new Promise((resolve) => {
          const image = document.createElement('img')
          image.onload = image.onerror = resolve
          image.src = ${url}
        })
      })()`)
      const navigation = page.waitForResponse((response) => response.request().isNavigationRequest())
      await page.evaluate(`(() => {
        const form = Object.assign(document.createElement('form'), { method: 'post', enctype: 'text/plain', action: ${url} })
        const name = ${JSON.stringify(`${body.slice(0, -1)},"a":"`)}
        form.append(Object.assign(document.createElement('input'), { name, value: '"}' }))
        document.body.append(form)
        form.submit()
      })()`)
      expect((await navigation).status()).toBe(403)
      await page.waitForURL(target + route)
    }
    return answers.filter((answer) => answer.startsWith('/console/session'))
  }

  it('of the same site neither ends a session, nor begins or prolongs one, whatever it sends', async () => {
    for (const [from, target] of [
      [evil, ours],
      [evilPort, local],
    ] as const) {
      const { context, page } = await signedIn(target)
      const cookies = JSON.stringify(await context.cookies())
      const answers = await attack(context, from, target)
      expect(new Set(answers)).toEqual(new Set(ROUTES.map((route) => `${route} 403`)))
      expect(answers.length).toBeGreaterThanOrEqual(3 * ROUTES.length)
      expect(JSON.stringify(await context.cookies())).toBe(cookies)
      await page.reload()
      await page.getByRole('heading', { name: 'Audit' }).waitFor()
      await context.close()
    }
    const stranger = await open(ours)
    await attack(stranger.context, evil, ours)
    expect(await stranger.context.cookies()).toEqual([])
    await stranger.context.close()
  })

  it('of the same site cannot put a cookie of its own in the place of ours', async () => {
    const { context, page } = await signedIn(ours)
    const [cookie] = await context.cookies()
    expect(cookie).toMatchObject({ name: '__Host-teslim', secure: true, httpOnly: true, sameSite: 'Strict', path: '/' })
    const other = await context.newPage()
    await other.goto(evil)
    const tossed = (before: string, path: string) =>
      `${before}__Host-teslim=${'A'.repeat(43)}; Domain=teslim.test; Secure; Path=${path}`
    for (const path of ['/', '/console/session']) await other.evaluate(`document.cookie = '${tossed('', path)}'`)
    expect(await context.cookies()).toEqual([cookie])
    for (const before of ['', ' ', '\t', '=', '= ', '\u00a0', '=\u00a0']) {
      for (const path of ['/', '/console/session'])
        await other.goto(`${evil}/?${new URLSearchParams({ cookie: tossed(before, path) })}`)
      await page.reload()
      await page.getByRole('heading', { name: 'Audit' }).waitFor()
    }
    // The browser does take such a name. It is not ours.
    expect((await context.cookies(ours)).length).toBeGreaterThan(1)
    await context.close()
  })

  it('on another port of this machine can only end the session, which then begins again', async () => {
    const { context, page } = await signedIn(local)
    const other = await context.newPage()
    await other.goto(evilPort)
    await other.evaluate(`document.cookie = 'teslim-dev=${'A'.repeat(43)}; Path=/console/session'`)
    await page.reload()
    await signIn(page, plain.operator)
    await page.reload()
    await page.getByRole('heading', { name: 'Audit' }).waitFor()
    await context.close()
  })

  it('has no part in this: without TLS each tab signs in by itself, which the form says', async () => {
    const { context, page } = await open(at('console.teslim.test', plain.server))
    await page.getByText('Without TLS each tab signs in by itself').waitFor()
    await signIn(page, plain.operator)
    expect(await page.locator('header.top .menu summary').innerText()).toContain(plain.operator)
    expect(await context.cookies()).toEqual([])
    await page.reload()
    await page.locator('.sign-in input[name=password]').waitFor()
    await context.close()
  })
})

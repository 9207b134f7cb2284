import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { startBrowser } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { serveSandbox } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const PATIENCE = 120_000

/** Serves an empty page at an origin of its own. */
async function servePage(): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>a page</title>')
  }).listen(0, '127.0.0.1')
  afterAll(() => server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe.skipIf(browserPath === undefined)('in a browser', async () => {
  if (browserPath === undefined) return
  const [shop, stranger] = [await servePage(), await servePage()]
  const { server, email, password, apiKey } = await serveSandbox({
    cwd: tempFolder(),
    env: { TESLIM_CORS_ORIGINS: shop },
  })
  const post = async (path: string, headers: object, body: object) => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    }
    return ((await (await fetch(server.url + path, init)).json()) as { data: Record<string, string> }).data
  }
  const { Token = '' } = await post('/Login/Customer/Api/Verify', {}, { Email: email, Password: password })
  const { ReceiptID = '' } = await post('/Purchase/update', { ApiKey: apiKey }, { OrderID: 'PO-1', Status: 2 })
  const browser = await startBrowser(browserPath)
  const page = await browser.newPage()

  /** Runs in the page; says what it can read. */
  const ask = async (origin: string, path: string, init: object) => {
    await page.goto(origin)
    return page.evaluate(
      async ([url, init]) => {
        try {
          const answer = await fetch(url, init)
          const { headers, status } = answer
          return { status, text: await answer.text(), etag: headers.get('etag'), id: headers.get('x-request-id') }
        } catch {
          return 'blocked'
        }
      },
      [server.url + path, init] as const,
    )
  }
  const authorization = `Bearer ${Token}`
  const delivery = `/Purchase/delivery/${ReceiptID}`

  it(
    'a page of an allowed origin reads orders with its own token, and what the answer is tagged with',
    async () => {
      const answer = await ask(shop, delivery, { headers: { authorization } })
      expect(answer).toMatchObject({ status: 200, etag: expect.stringMatching(/^W\//), id: expect.any(String) })
      const { etag, text } = answer as { etag: string; text: string }
      expect(JSON.parse(text)).toMatchObject({ data: { ReceiptID } })
      const again = await ask(shop, delivery, { headers: { authorization, 'if-none-match': etag } })
      expect(again).toMatchObject({ status: 304, text: '' })
      expect(await ask(shop, '/Purchase/list', {})).toMatchObject({
        status: 401,
        text: expect.stringContaining('TOKEN_MISSING'),
      })
    },
    PATIENCE,
  )

  it(
    'a page of another origin reads nothing, and no page logs in or delivers',
    async () => {
      expect(await ask(stranger, delivery, { headers: { authorization } })).toBe('blocked')
      expect(await ask(stranger, '/openapi.yaml', {})).toBe('blocked')
      const body = JSON.stringify({ Email: email, Password: password })
      const json = { 'content-type': 'application/json' }
      for (const origin of [shop, stranger]) {
        expect(await ask(origin, '/Login/Customer/Api/Verify', { method: 'POST', headers: json, body })).toBe('blocked')
        expect(
          await ask(origin, '/Purchase/update', { method: 'POST', headers: { ApiKey: apiKey }, body: '{"Status":1}' }),
        ).toBe('blocked')
        expect(await ask(origin, '/Purchase/list', { method: 'POST', headers: { authorization } })).toBe('blocked')
      }
    },
    PATIENCE,
  )

  it(
    'a page of an allowed origin follows the event stream',
    async () => {
      await page.goto(shop)
      const event = await page.evaluate(
        async ([url, authorization]) => {
          const answer = await fetch(url, {
            headers: { authorization, accept: 'text/event-stream', 'last-event-id': '' },
          })
          const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
          let text = ''
          while (!text.includes('data: ')) text += (await reader?.read())?.value ?? ''
          await reader?.cancel()
          return text
        },
        [`${server.url}/Purchase/feed`, authorization] as const,
      )
      expect(event).toContain(ReceiptID)
    },
    PATIENCE,
  )
})

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { testApp } from '../support/app/test-app.ts'
import { startBrowser, watchPage } from '../support/browser/browser.ts'
import { browserPath } from '../support/browser/browser-path.ts'
import { serveSandbox } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const PAGES = ['/docs', '/docs/suppliers', '/console']

const LOADED_BY: Record<string, string> = {
  js: `'script'), { src`,
  css: `'link'), { rel: 'stylesheet', href`,
  svg: `'img'), { src`,
}

/** What a browser asks the user for, or shows without being asked. */
const ASKING = [
  ...['camera', 'microphone', 'geolocation', 'clipboard-read', 'display-capture', 'fullscreen', 'picture-in-picture'],
  ...['usb', 'hid', 'serial', 'midi', 'gamepad', 'xr-spatial-tracking', 'screen-wake-lock', 'window-management'],
  ...['payment', 'publickey-credentials-get', 'identity-credentials-get', 'storage-access', 'local-fonts'],
]

/** The scripts, styles and pictures that the HTML of a page names. */
const filesOf = (html: string): string[] =>
  Array.from(html.matchAll(/(?:src|href)="(\/(?:docs|console)\/[^"]+\.(?:js|css|svg))"/g), ([, path = '']) => path)

describe('pages', async () => {
  const { app } = await testApp()

  it.each(PAGES)('have their own files only, nothing inline, and no HTML made from text: %s', async (url) => {
    const { headers, payload } = await app.inject(url)
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': expect.stringContaining('clipboard-read=()'),
    })
    const policy = String(headers['content-security-policy'])
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; /)
    expect(policy).toMatch(/; require-trusted-types-for 'script'; trusted-types 'none'$/)
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(payload).not.toMatch(/<script(?! type="module" src=)|<style|style=|https?:\/\//)
  })

  it.each(PAGES)('name their files by their content, and no other site may load these: %s', async (url) => {
    const files = filesOf((await app.inject(url)).payload)
    expect(files.length).toBeGreaterThanOrEqual(3)
    for (const file of files) {
      expect(file).toMatch(/-[0-9a-f]{16}\.\w+$/)
      expect((await app.inject(file)).headers).toMatchObject({
        'cache-control': 'public, max-age=31536000, immutable',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'cross-origin-resource-policy': 'same-origin',
      })
    }
  })
})

describe.skipIf(browserPath === undefined)('in a browser, pages', { timeout: 120_000 }, async () => {
  if (browserPath === undefined) return it('need a browser', () => undefined)
  const browser = await startBrowser(browserPath)
  const { server } = await serveSandbox({ cwd: tempFolder() })
  const stranger = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>a page</title>')
  }).listen(0, '127.0.0.1')
  afterAll(() => stranger.close())
  await once(stranger, 'listening')
  const elsewhere = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`

  it.each(PAGES)('that another site opens have no opener, and are closed to it: %s', async (path) => {
    const page = await browser.newPage()
    await page.goto(elsewhere)
    const [opened] = await Promise.all([
      page.waitForEvent('popup'),
      page.evaluate(`{ globalThis.opened = open('${server.url}${path}') }`),
    ])
    await opened.locator('main').first().waitFor()
    expect([await opened.evaluate('opener'), await page.evaluate('opened.closed')]).toEqual([null, true])
  })

  it('lend no script, style or picture to another site', async () => {
    const page = await browser.newPage()
    await page.goto(elsewhere)
    const load = (element: string) =>
      page.evaluate(`new Promise((done) => {
        const element = ${element}
        element.onload = () => done('loaded')
        element.onerror = () => done('blocked')
        document.head.append(element)
      })`)
    const html = await Promise.all(PAGES.map(async (path) => (await fetch(server.url + path)).text()))
    for (const file of new Set(html.flatMap(filesOf))) {
      const properties = LOADED_BY[file.split('.')[1] ?? '']
      const element = `Object.assign(document.createElement(${properties}: '${server.url}${file}' })`
      expect([file, await load(element)]).toEqual([file, 'blocked'])
    }
  })

  it.each(PAGES)('may ask for nothing of the device but to copy: %s', async (path) => {
    const page = await browser.newPage()
    const watched = Object.assign(watchPage(page), { origin: server.url })
    await page.goto(server.url + path)
    await page.locator('main').first().waitFor()
    const allowed = (await page.evaluate('document.featurePolicy.allowedFeatures()')) as string[]
    expect(allowed).toContain('clipboard-write')
    expect(allowed.filter((feature) => ASKING.includes(feature))).toEqual([])
    expect(watched.complaints).toEqual([])
  })
})

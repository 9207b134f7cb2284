import { type Browser, firefox } from 'playwright-core'
import { afterAll } from 'vitest'
import { FIREFOXES, firefoxPath } from './browser-path.ts'

if (firefoxPath === undefined)
  console.warn(`the tests in Firefox are skipped: none of ${FIREFOXES.join(', ')} is on the PATH`)

/** Of playwright-core: its own side of the protocol. */
interface Session {
  send(method: string, parameters: unknown): Promise<unknown>
}
interface Connected {
  readonly _connection: { toImpl(browser: Browser): { readonly _browserSession: Session } }
}

/**
 * Starts a Firefox as distributions ship it, by WebDriver BiDi. It ends with the test file. Firefox 153 has no command for media features,
 * which playwright-core sends for every page, so the colour scheme is a preference of the browser.
 */
export async function startFirefox(executablePath: string, scheme: 'dark' | 'light' = 'light'): Promise<Browser> {
  const browser = await firefox.launch({
    channel: 'moz-firefox',
    executablePath,
    timeout: 120_000,
    firefoxUserPrefs: { 'layout.css.prefers-color-scheme.content-override': scheme === 'dark' ? 0 : 1 },
  })
  afterAll(() => browser.close())
  const session: Session = Object.getPrototypeOf(
    (browser as unknown as Connected)._connection.toImpl(browser)._browserSession,
  )
  const { send } = session
  session.send = function (method, parameters) {
    return method === 'emulation.setMediaFeaturesOverride' ? Promise.resolve({}) : send.call(this, method, parameters)
  }
  return browser
}

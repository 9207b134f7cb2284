import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { afterAll } from 'vitest'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const folders = (process.env.PATH ?? '').split(delimiter)

/** A browser of the machine, or undefined where it has none. */
export const browserPath = folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(existsSync)

if (browserPath === undefined)
  console.warn(`the tests in a browser are skipped: none of ${NAMES.join(', ')} is on the PATH`)

const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Starts a browser for one test file and closes it at the end of the file. */
export async function startBrowser(executablePath: string): Promise<Browser> {
  const browser = await chromium.launch({ executablePath, args: ARGUMENTS, timeout: 120_000 })
  afterAll(() => browser.close())
  return browser
}

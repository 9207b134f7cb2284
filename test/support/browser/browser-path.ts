import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The first one has no windows and takes half of the processor time. */
export const BROWSERS = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
]

const folders = (process.env.PATH ?? '').split(delimiter)

const pathOf = (names: readonly string[]): string | undefined =>
  folders.flatMap((folder) => names.map((name) => join(folder, name))).find(existsSync)

/** A browser of the machine, or undefined where it has none. */
export const browserPath = pathOf(BROWSERS)

export const FIREFOXES = ['firefox-esr', 'firefox']

export const firefoxPath = pathOf(FIREFOXES)

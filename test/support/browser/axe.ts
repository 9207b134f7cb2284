import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

const script = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

/** What axe has to say about a page, or a part of it: the rule, the element, and what to do. */
export async function axeSays(page: Page, part = 'html', options = {}): Promise<string[]> {
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(script)
  const violations = (await page.evaluate(
    `axe.run(${JSON.stringify(part)}, ${JSON.stringify(options)}).then(({ violations }) => violations)`,
  )) as Violation[]
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`),
  )
}

/** Contrasts take most of the time. */
export const WITHOUT_COLOURS = { rules: { 'color-contrast': { enabled: false } } }

/** Looks with both languages and both themes. */
export const LOOKS = [
  { locale: 'en-GB', colorScheme: 'light' },
  { locale: 'tr-TR', colorScheme: 'dark' },
] as const

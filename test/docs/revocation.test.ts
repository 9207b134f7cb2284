import { globSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { published } from '../support/docs/contract.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const filesIn = (...patterns: string[]): string[] => globSync(patterns, { cwd: root }).toSorted()

/** Each sentence of a page is one line. */
const pages = filesIn('*.md', 'docs/*.md', 'docs/tr/*.md', 'deploy/**/*.md', 'examples/*.md')
const textOfPage = (page: string): string =>
  read(page)
    .replaceAll(/\n(?![\n|>-])/g, ' ')
    .replaceAll(/\. |\|/g, '\n')
const sources = filesIn('src/cli/**/*.ts', 'src/lib/messages/{en,tr}/*.ts', 'src/console/page/texts/*.json')
const all = [
  ...pages.map((page) => [page, textOfPage(page)]),
  ...sources.map((file) => [file, read(file)]),
  ['openapi.yaml', JSON.stringify(published, null, 1)],
] as const

const CREDENTIAL = /\b(?:keys?|tokens?|secrets?|sessions?|working)\b|anahtar|belirte[cç]/i
const ENDS =
  /\b(?:ends?|stops?|revoked?|disabled?|removed?|refused?|no longer)\b|sona er|reddedil|bir daha|hiçbir zaman/i
const AT_ONCE =
  /\b(?:immediately|instantly|at once|right away|from now on)\b|\b(?:ends?|stops?) (?:\w+ )?now\b|\bhemen\b|\banında\b|\bbundan sonra\b/i

it('no text promises more of a revocation than that servers notice it within a second', () => {
  const found = all.flatMap(([where, text]) =>
    text
      .split('\n')
      .filter((line) => CREDENTIAL.test(line) && ENDS.test(line) && AT_ONCE.test(line))
      .map((line) => `${where}: ${line.trim()}`),
  )
  expect(found).toEqual([])
})

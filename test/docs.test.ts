import { existsSync, globSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { commandNames } from '#src/cli/command-table.ts'
import { settings } from '#src/config/settings.ts'
import { withReferenceTables } from '../tools/reference-tables.ts'
import { anchorsOf, withoutCode } from './support/doc-blocks.ts'

const root = new URL('../', import.meta.url)
const PAGES = globSync(['*.md', 'docs/**/*.md', 'deploy/**/*.md', 'examples/*.md'], { cwd: root }).toSorted()
const read = (page: string): string => readFileSync(new URL(page, root), 'utf8')

it('docs/reference.md lists every command and every setting as the code defines them', () => {
  const reference = read('docs/reference.md')
  expect(reference, 'run npm run openapi').toBe(withReferenceTables(reference))
})

it('.gitattributes names only generated files that are there', () => {
  const named = Array.from(read('.gitattributes').matchAll(/^\/(\S+) linguist-generated$/gm), ([, path = '']) => path)
  expect(named).toContain('openapi.yaml')
  expect(named.filter((path) => globSync(path, { cwd: root }).length === 0)).toEqual([])
})

it('the README is a front page, and every figure it gives is in docs/performance.md', () => {
  const readme = read('README.md')
  expect(readme.split('\n').length).toBeLessThan(150)
  const [, measured = ''] = /^## Measured\n([\s\S]*?)^## /m.exec(readme) ?? []
  const figures = measured.match(/\d+(?:,\d{3})+|\d+\.\d+/g) ?? []
  expect(figures.length).toBeGreaterThan(5)
  const source = read('docs/performance.md')
  expect(figures.filter((figure) => !source.includes(figure))).toEqual([])
})

it('the picture in the README has a title and a description, and follows the theme', () => {
  const picture = read('docs/images/how-it-fits.svg')
  for (const part of ['role="img"', 'aria-labelledby="title desc"', '<title id="title">', '<desc id="desc">'])
    expect(picture).toContain(part)
  expect(picture).toContain('@media (prefers-color-scheme: dark)')
  expect(picture).not.toMatch(/<script|(?<!xmlns=")https?:/)
})

it.each(PAGES)('every relative link in %s leads to a file and heading that exist', (page) => {
  const text = withoutCode(read(page))
  const links = [
    ...Array.from(text.matchAll(/\]\((?!https?:|mailto:)([^)]+)/g), ([, link = '']) => link),
    ...Array.from(text.matchAll(/\bsrc="([^"]+)"/g), ([, link = '']) => link),
  ]
  const dead = links.filter((link) => {
    const { pathname, hash } = new URL(link, new URL(page, root))
    if (!existsSync(pathname)) return true
    return hash !== '' && !anchorsOf(readFileSync(pathname, 'utf8')).includes(decodeURIComponent(hash.slice(1)))
  })
  expect(dead).toEqual([])
})

// The changelog tells of files that were there once.
it.each(PAGES.filter((page) => page !== 'CHANGELOG.md'))('%s names only files of the repository that exist', (page) => {
  const named = Array.from(
    withoutCode(read(page)).matchAll(/`((?:bench|bin|deploy|docs|examples|src|test|tools)\/[\w./-]+)`/g),
    ([, path = '']) => path,
  )
  expect(named.filter((path) => !path.includes('NNNN') && !existsSync(new URL(path, root)))).toEqual([])
})

// One is of the tests (test/support/global-setup.ts).
const variables = new Set(['TESLIM_UNDER_TEST', ...Object.values(settings).map(({ variable }) => variable)])

it.each(PAGES)('%s names only settings that exist', (page) => {
  const named = new Set(read(page).match(/\bTESLIM_[A-Z][A-Z_]*[A-Z]\b/g))
  expect([...named].filter((name) => !variables.has(name))).toEqual([])
})

it.each(PAGES)('%s names only commands that exist', (page) => {
  const named = Array.from(
    read(page).matchAll(/(?:`|npx |bin\/)teslim(?:\.js)? ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?)/gm),
    ([, words = '']) => words,
  )
  const unknown = named.filter(
    (words) =>
      !commandNames.some((name) => words === name || words.startsWith(`${name} `) || name.startsWith(`${words} `)),
  )
  expect(unknown).toEqual([])
})

it('the container copies only what there is, and leaves nothing out that the service loads', () => {
  const dockerfile = readFileSync(new URL('Dockerfile', root), 'utf8')
  const copied = Array.from(dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm), ([, sources = '']) =>
    sources.split(' '),
  ).flat()
  expect(copied.filter((path) => !existsSync(new URL(path, root)))).toEqual([])
  const ignored = readFileSync(new URL('.dockerignore', root), 'utf8')
  expect(copied.filter((path) => !ignored.includes(`!${path}`))).toEqual([])
})

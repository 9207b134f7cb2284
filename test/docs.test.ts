import { existsSync, globSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { commands } from '#src/cli/command-table.ts'
import { settings } from '#src/config/settings.ts'
import { readmeTables } from '../tools/readme-tables.ts'

const root = new URL('../', import.meta.url)
const readme = readFileSync(new URL('README.md', root), 'utf8')

it('the README lists every command and every setting as it is', () => {
  expect(readme, 'run npm run openapi').toBe(readmeTables(readme))
})

const PAGES = globSync(['*.md', 'docs/**/*.md', 'deploy/**/*.md', 'examples/*.md'], { cwd: root }).toSorted()
const read = (page: string): string => readFileSync(new URL(page, root), 'utf8')
/** As GitHub names the place of a heading. */
const anchorsOf = (text: string): string[] =>
  Array.from(text.matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

it.each(PAGES)('%s links to nothing that is not there', (page) => {
  const links = Array.from(read(page).matchAll(/\]\((?!https?:|mailto:)([^)]+)/g), ([, link = '']) => link)
  const dead = links.filter((link) => {
    const { pathname, hash } = new URL(link, new URL(page, root))
    if (!existsSync(pathname)) return true
    return hash !== '' && !anchorsOf(readFileSync(pathname, 'utf8')).includes(hash.slice(1))
  })
  expect(dead).toEqual([])
})

const variables = new Set(Object.values(settings).map(({ variable }): string => variable))

it.each(PAGES)('%s names no setting that there is not', (page) => {
  const named = new Set(read(page).match(/\bTESLIM_[A-Z][A-Z_]*[A-Z]\b/g))
  expect([...named].filter((name) => !variables.has(name))).toEqual([])
})

it.each(PAGES)('%s names no command that there is not', (page) => {
  const known = commands.map(({ name }) => name)
  const named = Array.from(
    read(page).matchAll(/(?:`|npx |bin\/)teslim(?:\.js)? ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?)/gm),
    ([, words = '']) => words,
  )
  const unknown = named.filter(
    (words) => !known.some((name) => words === name || words.startsWith(`${name} `) || name.startsWith(`${words} `)),
  )
  expect(unknown).toEqual([])
})

it('the container copies only what there is, and leaves nothing out that the service loads', () => {
  const dockerfile = readFileSync(new URL('Dockerfile', root), 'utf8')
  const copied = Array.from(dockerfile.matchAll(/^COPY (.+) \S+$/gm), ([, sources = '']) => sources.split(' ')).flat()
  expect(copied.filter((path) => !existsSync(new URL(path, root)))).toEqual([])
  const ignored = readFileSync(new URL('.dockerignore', root), 'utf8')
  expect(copied.filter((path) => !ignored.includes(`!${path}`))).toEqual([])
})

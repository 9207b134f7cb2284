import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { readmeTables } from '../tools/readme-tables.ts'

const root = new URL('../', import.meta.url)
const readme = readFileSync(new URL('README.md', root), 'utf8')

it('the README lists every command and every setting as it is', () => {
  expect(readme, 'run npm run openapi').toBe(readmeTables(readme))
})

it.each(['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'])(
  '%s links to nothing that is not there',
  (page) => {
    const text = readFileSync(new URL(page, root), 'utf8')
    const links = Array.from(text.matchAll(/\]\((?!https?:)([^)#]+)/g), ([, link = '']) => link)
    expect(links.filter((link) => !existsSync(new URL(link, root)))).toEqual([])
  },
)

it('the container copies only what there is, and leaves nothing out that the service loads', () => {
  const dockerfile = readFileSync(new URL('Dockerfile', root), 'utf8')
  const copied = Array.from(dockerfile.matchAll(/^COPY (.+) \S+$/gm), ([, sources = '']) => sources.split(' ')).flat()
  expect(copied.filter((path) => !existsSync(new URL(path, root)))).toEqual([])
  const ignored = readFileSync(new URL('.dockerignore', root), 'utf8')
  expect(copied.filter((path) => !ignored.includes(`!${path}`))).toEqual([])
})

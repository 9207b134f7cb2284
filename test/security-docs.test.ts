import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const root = new URL('../', import.meta.url)
const text = readFileSync(new URL('docs/security.md', root), 'utf8')
/** In one line, as names of tests wrap. */
const page = text.replaceAll(/\s+/g, ' ')

/** Citations of the form `path`: "name", "name". */
const cited = Array.from(page.matchAll(/`(test\/[^`]+)`((?:[:,]? "[^"]+")*)/g), ([, path = '', names = '']) => ({
  path,
  names: Array.from(names.matchAll(/"([^"]+)"/g), ([, name = '']) => name),
}))
const paths = Array.from(page.matchAll(/`((?:src|test|deploy|tools|docs)\/[^`]*)`/g), ([, path = '']) => path)
const links = Array.from(page.matchAll(/\]\((?!https?:|#)([^)#]+)/g), ([, link = '']) => link)

it('every file and test that docs/security.md names is there', () => {
  expect(paths.filter((path) => !existsSync(new URL(path, root)))).toEqual([])
  expect(links.filter((link) => !existsSync(new URL(`docs/${link}`, root)))).toEqual([])
  const missing = cited.flatMap(({ path, names }) => {
    const source = readFileSync(new URL(path, root), 'utf8')
    return names.filter((name) => !source.includes(name)).map((name) => `${path}: ${name}`)
  })
  expect(missing).toEqual([])
  expect(cited.flatMap(({ names }) => names).length).toBeGreaterThan(50)
})

it('docs/security.md answers every number of the checklist with a test, in order, and grants what the script grants', () => {
  const claims = Array.from(text.matchAll(/^(\d+)\. \*\*[^*]+\.\*\* .+\n(?: +[^- ].*\n)* +- `test\//gm), ([, number]) =>
    Number(number),
  )
  expect(claims).toEqual(Array.from({ length: 36 }, (_, index) => index + 1))
  const script = readFileSync(new URL('deploy/postgres/service-role.sql', root), 'utf8')
  const grants = script.match(/^(GRANT|REVOKE) .*teslim_service;$/gm) ?? []
  expect(grants).toHaveLength(8)
  for (const grant of grants) expect(page).toContain(grant)
})

it('docs/security.md has the number of direct dependencies of production', () => {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
  expect(page).toContain(`Production has ${Object.keys(dependencies).length} direct dependencies,`)
})

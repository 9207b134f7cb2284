import { existsSync, globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { commandNames, loadCommands } from '#src/cli/command-table.ts'
import { settings } from '#src/config/settings.ts'
import { withReferenceTables } from '../tools/reference-tables.ts'
import { published } from './support/docs/contract.ts'
import { anchorsOf, withoutCode } from './support/docs/doc-blocks.ts'

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
  const begins = [
    '(docs/promises.md)',
    '## Install\n',
    '## Try it\n',
    '/Purchase/update',
    'how-it-fits.svg',
    '## Measured\n',
  ]
  const places = begins.map((text) => readme.indexOf(text))
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(places).not.toContain(-1)
  const [, measured = ''] = /^## Measured\n([\s\S]*?)^## /m.exec(readme) ?? []
  const figures = measured.match(/\d+(?:,\d{3})+|\d+\.\d+/g) ?? []
  expect(figures.length).toBeGreaterThan(5)
  const source = read('docs/performance.md')
  expect(figures.filter((figure) => !source.includes(figure))).toEqual([])
})

it('docs/performance.md is short, and has the aims that the benchmark prints', () => {
  const page = read('docs/performance.md')
  expect(page.split('\n').length).toBeLessThan(250)
  const [, table = ''] = /^## Aims\n([\s\S]*?)^## /m.exec(page) ?? []
  const aims = Array.from(table.matchAll(/^\| `([\w-]+)` \| (.+) \|$/gm), ([, name = '', aim = '']) => ({ name, aim }))
  expect(aims.length).toBeGreaterThan(9)
  for (const { name, aim } of aims) {
    const printed =
      read(`bench/${name}.ts`).match(/(?:at least|at most|under) \d[\d.]*(?= |\)|'|,)|lowest .*\(\d\.\d+\)/g) ?? []
    const figures = printed.map((text) => /[\d.]+(?=\)?$)/.exec(text)?.[0] ?? '')
    expect(figures.length, name).toBeGreaterThan(0)
    expect(
      figures.filter((figure) => !aim.includes(figure)),
      name,
    ).toEqual([])
  }
})

it('docs/images has no picture that no page shows', () => {
  const pages = PAGES.map((page) => read(page)).join('')
  const pictures = globSync('docs/images/*', { cwd: root }).map((path) => path.replace('docs/', ''))
  expect(pictures.length).toBeGreaterThan(3)
  expect(pictures.filter((picture) => !pages.includes(picture))).toEqual([])
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

it.each(PAGES)('%s names only files of the repository that exist', (page) => {
  const named = Array.from(
    withoutCode(read(page)).matchAll(/`((?:bench|bin|deploy|docs|examples|src|test|tools)\/[\w./-]+)`/g),
    ([, path = '']) => path,
  )
  expect(named.filter((path) => !path.includes('NNNN') && !existsSync(new URL(path, root)))).toEqual([])
})

// One is of the tests (test/support/processes/global-setup.ts).
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

/** In one line, without blocks of commands, which are run by test/docs/commands.test.ts. */
const proseOf = (page: string): string => withoutCode(read(page)).replaceAll(/\s+/g, ' ')

const options = new Set(
  ['json', 'utc', ...(await loadCommands()).flatMap(({ options: own = {} }) => Object.keys(own))].map(
    (name) => `--${name}`,
  ),
)
/** Of Node, Docker, npm, curl, `npm run bench` and `npm run release`. */
const OPTIONS_OF_OTHERS =
  /^--(allow-[a-z-]+|data-binary|disable-sigusr|force-recreate|ignore-scripts|max-old-space-size|not-tested|postgres|sysctl)$/

// Decisions and the log also tell of options that were rejected.
it.each(PAGES.filter((page) => !/decisions|-log/.test(page)))('%s names only options that exist', (page) => {
  const named = Array.from(proseOf(page).matchAll(/`(--[a-z][a-z-]*)/g), ([, option = '']) => option)
  expect(named.filter((option) => !options.has(option) && !OPTIONS_OF_OTHERS.test(option))).toEqual([])
})

/** An operation with the names of its parameters left out, however a page writes them. */
const shapeOf = (operation: string): string => operation.replaceAll(/\/(?::|\{|[A-Z]{2,}|PO-1)[^/]*/g, '/*')
const operations = new Set(
  Object.entries(published.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => shapeOf(`${method.toUpperCase()} ${path}`)),
  ),
)

// Those outside of the contract hold no data, or are of the console's session.
it.each(PAGES)('%s names only addresses that exist', (page) => {
  const named = Array.from(proseOf(page).matchAll(/`((?:GET|POST) \/[^`?\s]*)/g), ([, operation = '']) => operation)
  const outside = /^GET \/metrics$|^(GET|POST) \/(console|docs|\.well-known)\b|(\*|\.\.\.)$/
  expect(named.filter((each) => !operations.has(shapeOf(each)) && !outside.test(each))).toEqual([])
})

it.each(PAGES)('no line of %s is wider than 140 characters, but for rows of tables', (page) => {
  const lines = withoutCode(read(page)).split('\n')
  expect(lines.filter((line) => line.length > 140 && !/^(\||<)/.test(line))).toEqual([])
})

describe('docs/decisions', () => {
  const files = globSync('docs/decisions/[0-9]*.md', { cwd: root })
    .map((path) => path.replace('docs/decisions/', ''))
    .toSorted()
  const decisions = files.map((file) => {
    const [title = '', , status = ''] = read(`docs/decisions/${file}`).split('\n')
    return { file, title: title.replace('# ', ''), status }
  })
  const index = read('docs/decisions/README.md')

  it('each have a number, a date and a status', () => {
    for (const { file, title, status } of decisions) {
      expect(title).toMatch(new RegExp(`^${Number(file.slice(0, 4))}\\. `))
      expect(status, file).toMatch(
        /^\d{4}-\d\d-\d\d, (accepted|superseded (in part )?by \[decision (\d+)\]\(0*\3-[\w-]+\.md\))\.$/,
      )
    }
  })

  it('are all in the index, each once, with title, date and status', () => {
    const rows = index.match(/^\| \[\d+\..*\|$/gm) ?? []
    const expected = decisions.map(({ file, title, status }) => {
      const [date, ...rest] = status.slice(0, -1).split(', ')
      return `| [${title}](${file}) | ${date} | ${rest.join(', ')} |`
    })
    expect(rows.toSorted()).toEqual(expected.toSorted())
  })
})

it('CONTRIBUTING.md says where every folder of src is', () => {
  const [, table = ''] = /^## Where things live\n([\s\S]*?)^## /m.exec(read('CONTRIBUTING.md')) ?? []
  const folders = globSync('src/*/', { cwd: root }).map((path) => path.replace(/\/$/, ''))
  expect(folders.length).toBeGreaterThan(10)
  expect(folders.filter((folder) => !table.includes(`\`${folder}\``))).toEqual([])
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

import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ACTIONS } from '#src/audit/action-names.ts'
import { settings } from '#src/config/settings.ts'
import { STATUS } from '#src/http/error-handler.ts'
import { httpErrors } from '#src/http/http.errors.ts'
import { STATUS_MEANINGS } from '#src/purchase/status.ts'
import { published } from '../support/contract.ts'
import { anchorsOf, withoutCode } from '../support/doc-blocks.ts'

const root = new URL('../../', import.meta.url)
const { paths } = published

const pair = (status: number | string, code: string): string => `${status} ${code}`

/** A mistyped address or method belongs to no operation. */
const WRONG_ADDRESS = [httpErrors.notFound, httpErrors.methodNotAllowed].map(({ kind, code }) =>
  pair(STATUS[kind], code),
)

/** Every status and errorCode that openapi.yaml gives to these operations. */
function refusalsOf(operations: readonly string[]): string[] {
  const found = operations.flatMap((operation) => {
    const [method = '', path = ''] = operation.split(' ')
    return Object.entries(paths[path]?.[method]?.responses ?? {}).flatMap(([status, response]) => {
      const [, codes] = /"errorCode":\{"enum":(\[[^\]]*\])/.exec(JSON.stringify(response)) ?? []
      return (codes === undefined ? [] : (JSON.parse(codes) as string[])).map((code) => pair(status, code))
    })
  })
  return [...new Set([...found, ...WRONG_ADDRESS])].toSorted()
}

/** Every status and errorCode in the tables below these headings: `| 400 | CODE, CODE | ... |`. */
function documented(page: string, headings: readonly string[]): string[] {
  const text = readFileSync(new URL(page, root), 'utf8')
  const sections = text
    .split(/^(?=## )/m)
    .filter((section) => headings.some((name) => section.startsWith(`## ${name}\n`)))
  expect(sections).toHaveLength(headings.length)
  const rows = sections.flatMap((section) =>
    Array.from(section.matchAll(/^\| (\d{3}) \| ([^|]+) \| \S[^|]+ \| \S[^|]+ \|$/gm)),
  )
  return rows
    .flatMap(([, status = '', codes = '']) =>
      Array.from(codes.matchAll(/`(\w+)`/g), ([, code = '']) => pair(status, code)),
    )
    .toSorted()
}

const readsBelow = (place: RegExp): string[] =>
  Object.keys(paths)
    .filter((path) => place.test(path) && paths[path]?.get !== undefined)
    .map((path) => `get ${path}`)

describe.each([
  {
    page: 'docs/suppliers.md',
    of: 'a delivery and of reading by API key',
    operations: ['post /Purchase/update', ...readsBelow(/^\/Supplier\//)],
    headings: ['What to do on each error code'],
  },
  {
    page: 'docs/api-customers.md',
    of: 'the login',
    operations: ['post /Login/Customer/Api/Verify'],
    headings: ['Errors of the login', 'Errors of any request'],
  },
  {
    page: 'docs/api-customers.md',
    of: 'reading',
    operations: readsBelow(/^\/(Purchase|Customer)\//),
    headings: ['Errors of reading', 'Errors of any request'],
  },
])('$page', ({ page, of, operations, headings }) => {
  it(`says what to do on every error code of ${of}, and names no other`, () => {
    expect(operations.length).toBeGreaterThan(0)
    expect(documented(page, headings)).toEqual(refusalsOf(operations))
  })
})

describe('docs/suppliers.md', () => {
  const page = readFileSync(new URL('docs/suppliers.md', root), 'utf8')
  const rowOf = (name: string): string[] => {
    const [, where = ''] = new RegExp(`^\\| ${name} \\| ([^|]+) \\|`, 'm').exec(page) ?? []
    return Array.from(where.matchAll(/`(\w+)`/g), ([, field = '']) => field)
  }

  it('names the fields in which an order id and product codes are looked for by default', () => {
    expect(rowOf('order id').map((field) => `/${field}`)).toEqual(settings.orderIdPointers.default)
    const fields = settings.productPointers.default.flatMap((pointer: string) => pointer.match(/\w+/g))
    expect(new Set(rowOf('product codes'))).toEqual(new Set(fields))
  })

  it('says what each Status means', () => {
    const said = Array.from(page.matchAll(/^\| ([0-3]) \| (?:has been|is) ([^|]+) \|$/gm), ([, , meaning]) => meaning)
    expect(said).toEqual(STATUS_MEANINGS)
  })
})

/** What a page has in common with its translation, heading by heading: blocks, links, code, items and rows. */
function skeletonOf(page: string) {
  const url = new URL(page, root)
  const text = readFileSync(url, 'utf8')
  const anchors = anchorsOf(text)
  const placeOf = (link: string): string =>
    link.startsWith('#') ? `heading ${anchors.indexOf(decodeURIComponent(link.slice(1)))}` : new URL(link, url).pathname
  const all = (part: string, what: RegExp): string[] => Array.from(part.matchAll(what), ([, found = '']) => found)
  const inOrder = (found: readonly string[]): string[] => found.toSorted()
  return text.split(/^(?=#+ )/m).map((section) => {
    const prose = withoutCode(section)
    const links = all(prose, /\]\(([^)]+)\)/g).map(placeOf)
    return {
      level: /^#*/.exec(section)?.[0],
      blocks: section.match(/^```[\s\S]*?^```$/gm),
      // But for those from one language to the other.
      links: inOrder(links.filter((link) => !link.endsWith('/suppliers.md'))),
      code: inOrder([...new Set(all(prose, /`([^`]+)`/g))]),
      rows: all(prose, /^\|(.*)$/gm).map((row) => inOrder(all(row, /(`[^`]+`|\b\d{3}\b)/g))),
      items: all(prose, /^(- )/gm).length,
    }
  })
}

describe('docs/tr/suppliers.md', () => {
  it('has what docs/suppliers.md has: headings, commands, answers, links, codes, rows and items', () => {
    expect(skeletonOf('docs/tr/suppliers.md')).toEqual(skeletonOf('docs/suppliers.md'))
  })

  it('and docs/suppliers.md link to each other', () => {
    expect(readFileSync(new URL('docs/tr/suppliers.md', root), 'utf8')).toContain('[English](../suppliers.md)')
    expect(readFileSync(new URL('docs/suppliers.md', root), 'utf8')).toContain('[Türkçe](tr/suppliers.md)')
  })
})

describe('docs/operations.md', () => {
  it('says what every action of the audit log is', () => {
    const page = readFileSync(new URL('docs/operations.md', root), 'utf8')
    const [, table = ''] = /^\| action \| what happened \|\n([\s\S]*?)\n\n/m.exec(page) ?? []
    const named = Array.from(table.matchAll(/^\| ([^|]+) \|/gm)).flatMap(([, cell = '']) => {
      let noun = ''
      return Array.from(cell.matchAll(/`([a-z-]*)\.([a-z-]+)`/g), ([, own = '', verb = '']) => {
        noun = own || noun
        return `${noun}.${verb}`
      })
    })
    expect(named.toSorted()).toEqual(ACTIONS.toSorted())
  })
})

describe('docs/monitoring.md', () => {
  it('says what to do on every line of the log that warns, and names no other', () => {
    const page = readFileSync(new URL('docs/monitoring.md', root), 'utf8')
    const [, table = ''] = /^\| the line has \| what to do \|\n([\s\S]*?)\n\n/m.exec(page) ?? []
    const keys = Array.from(table.matchAll(/^\| (`[^|]+) \|/gm)).flatMap(([, cell = '']) =>
      Array.from(cell.matchAll(/`([^`]+)`/g), ([, key = '']) => key),
    )
    // The doctor warns on the terminal.
    const files = globSync('src/**/*.ts', { cwd: root }).filter((file) => !file.includes('/doctor/'))
    const sources = files.map((file) => readFileSync(new URL(file, root), 'utf8'))
    const logged = sources.flatMap((text) =>
      Array.from(
        text.matchAll(/\b(?:warn|error|fatal|warnings\.push)\(\s*(?:\{[^}]*\},\s*)?(['`])(.*?)\1/g),
        ([, , line = '']) => line,
      ),
    )
    expect(logged.length).toBeGreaterThan(15)
    expect(logged.filter((line) => !keys.some((key) => line.includes(key)))).toEqual([])
    expect(keys.filter((key) => !sources.some((text) => text.includes(key)))).toEqual([])
  })
})

import { globSync, readFileSync } from 'node:fs'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { ACTIONS } from '#src/audit/action-names.ts'
import { settings } from '#src/config/settings.ts'
import { STATUS } from '#src/http/error-handler.ts'
import { httpErrors } from '#src/http/http.errors.ts'
import { classOf, type ErrorDefinition } from '#src/lib/app-error.ts'
import { STATUS_MEANINGS } from '#src/purchase/status.ts'
import type { Customer } from '#src/store/store.ts'
import { addCustomer, testApp } from '../support/app/test-app.ts'
import { published, written } from '../support/docs/contract.ts'
import { allDefinitions } from '../support/docs/definitions.ts'
import { anchorsOf, withoutCode } from '../support/docs/doc-blocks.ts'

const root = new URL('../../', import.meta.url)
const { paths } = published

const HEALTH = ['/', '/livez', '/readyz', '/openapi.yaml', '/openapi.json']

/** Whose requests an operation answers, as docs/errors.md calls them. */
function whoAsks(path: string): string | undefined {
  if (/^\/(Operator|Webhook)\//.test(path)) return 'O'
  if (/^\/(Supplier|Purchase\/updates?$)/.test(path)) return 'S'
  if (/^\/(Login|Purchase|Customer)\//.test(path)) return 'A'
  expect([...HEALTH, path.startsWith('/.well-known/') ? path : '']).toContain(path)
  return undefined
}

/** Every status and errorCode of openapi.yaml, and of a mistyped address or method, with who may get it. */
function refusals(): Map<string, Set<string>> {
  const everybody = ['S', 'A', 'O']
  const found = new Map(
    [httpErrors.notFound, httpErrors.methodNotAllowed].map(({ kind, code }) => [
      `${STATUS[kind]} ${code}`,
      new Set(everybody),
    ]),
  )
  for (const [path, operations] of Object.entries(paths)) {
    const who = whoAsks(path)
    for (const { responses = {} } of who === undefined ? [] : Object.values(operations)) {
      for (const [status, response] of Object.entries(responses)) {
        const [, codes] = /"errorCode":\{"enum":(\[[^\]]*\])/.exec(JSON.stringify(response)) ?? []
        for (const code of codes === undefined ? [] : (JSON.parse(codes) as string[])) {
          const key = `${status} ${code}`
          found.set(key, (found.get(key) ?? new Set()).add(who as string))
        }
      }
    }
  }
  return found
}

const codesIn = (cell: string): string[] =>
  Array.from(cell.matchAll(/`([A-Z][A-Z0-9_]*[A-Z0-9])`/g), ([, code = '']) => code)

/** The rows `| 400 | CODE, CODE | ... |` of a page. */
const rowsOf = (page: string) =>
  Array.from(
    readFileSync(new URL(page, root), 'utf8').matchAll(
      /^\| (\d{3}) \| ([^|]+) \| (?:([SAO]+) \| )?\S[^|]+ \| \S[^|]+ \|$/gm,
    ),
    ([, status = '', codes = '', who = '']) => ({ status, codes: codesIn(codes), who: who.split('') }),
  )

describe('docs/errors.md', () => {
  const documented = new Map<string, Set<string>>()
  for (const { status, codes, who } of rowsOf('docs/errors.md')) {
    for (const code of codes) {
      const key = `${status} ${code}`
      documented.set(key, (documented.get(key) ?? new Set()).union(new Set(who)))
    }
  }

  it('says of every error code who gets it and what to do, and names no other', () => {
    expect(documented).toEqual(refusals())
  })

  it('names every code that the modules define, also those that no route answers with', async () => {
    const codes = (await allDefinitions()).map(({ code }) => code)
    expect(codes.length).toBeGreaterThan(100)
    const page = readFileSync(new URL('docs/errors.md', root), 'utf8')
    expect(new Set(codes).difference(new Set(codesIn(page)))).toEqual(new Set())
  })

  it.each(['docs/suppliers.md', 'docs/tr/suppliers.md', 'docs/api-customers.md'])(
    'has every code that %s names first, with the same status',
    (page) => {
      const first = rowsOf(page).flatMap(({ status, codes }) => codes.map((code) => `${status} ${code}`))
      expect(first.length).toBeGreaterThan(5)
      expect(first.filter((each) => !documented.has(each))).toEqual([])
    },
  )
})

it('docs/monitoring.md says which class each error code has, and it has no other', async () => {
  const [row = ''] =
    /^\| `teslim_refusals_total.*$/m.exec(readFileSync(new URL('docs/monitoring.md', root), 'utf8')) ?? []
  const byStatus = new Map(
    Array.from(row.matchAll(/`(\w+)` \((\dxx|\d{3}|all others)\)/g), ([, name, status]) => [status, name]),
  )
  expect(byStatus.size).toBe(5)
  const [, exception, of] = /only `([A-Z_]+)`, a 400, has `(\w+)`/.exec(row) ?? []
  const said = ({ code, kind }: ErrorDefinition) => {
    const status = String(STATUS[kind])
    if (code === exception) return of
    return byStatus.get(status) ?? byStatus.get(`${status[0]}xx`) ?? byStatus.get('all others')
  }
  const definitions = await allDefinitions()
  expect(definitions.filter((each) => classOf(each) !== said(each))).toEqual([])
  // Some codes have several kinds.
  const classes = Map.groupBy(definitions, ({ code }) => code)
    .values()
    .map((all) => new Set(all.map(classOf)).size)
  expect(new Set(classes)).toEqual(new Set([1]))
})

describe('docs/api-customers.md', () => {
  it('says what every part of a token is', async () => {
    const service = await testApp()
    const { id } = await addCustomer(service)
    const customer = (await service.store.customers.findById(id)) as Customer
    const session = { id: 'a session', authAt: 0, until: Number.POSITIVE_INFINITY }
    const { token } = await service.app.accessTokens.issue(customer, 'TR', session)
    const page = readFileSync(new URL('docs/api-customers.md', root), 'utf8')
    const [, section = ''] = /^## Verify tokens[^\n]*\n([\s\S]*?)^## /m.exec(page) ?? []
    const [, header = ''] = /^(.*Its header has [\s\S]*?)These are its claims/m.exec(section) ?? []
    const named = Array.from(section.matchAll(/^\| (`[^|]+) \|/gm), ([, cell = '']) =>
      Array.from(cell.matchAll(/`(\w+)`/g), ([, claim = '']) => claim),
    ).flat()
    expect(new Set(named)).toEqual(new Set(Object.keys(decodeJwt(token))))
    expect(Object.keys(decodeProtectedHeader(token)).filter((name) => !header.includes(`\`${name}\``))).toEqual([])
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

describe('two suppliers with the same order id', () => {
  it.each(['docs/api-customers.md', 'docs/webhooks.md', 'examples/README.md'])(
    'are named in %s, in bold, with what tells their orders apart',
    (page) => {
      const text = readFileSync(new URL(page, root), 'utf8').replaceAll(/\s+/g, ' ')
      expect(text).toMatch(
        /\*\*An order id is unique only within its customer\.?\*\*.{0,150} by `CustomerID` and `OrderID` together/,
      )
    },
  )

  it.each(['FeedDelivery', 'Delivery', 'DeliverySummary', 'Order', 'OrderHistory'])(
    'are named in the contract of %s',
    (name) => {
      const { properties, required } = parse(written).components.schemas[name]
      expect(properties.OrderID.description).toContain('unique only within its customer')
      expect(properties.CustomerID.description).toContain('only with it does OrderID name one order')
      expect(required).toContain('CustomerID')
    },
  )
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

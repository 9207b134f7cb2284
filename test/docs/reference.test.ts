import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { settings } from '#src/config/settings.ts'
import { published } from '../support/docs/contract.ts'
import { createStoreWith } from '../support/store/create-store.ts'
import { runSql, type StoreKind, storesOfRun } from '../support/store/stores.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const page = read('docs/reference.md')
const sectionOf = (heading: string): string =>
  page.split(/^(?=## )/m).find((section) => section.startsWith(`## ${heading}\n`)) ?? ''

/** Constants by row of the table of limits, by file and name, in the order in which the row has them. */
const CONSTANTS: Readonly<Record<string, readonly string[]>> = {
  'nesting of JSON': ['scan.ts MAX_DEPTH'],
  'deliveries that wait for a commit': ['open-store.ts MAX_DELIVERIES'],
  'an order id or product code': ['delivery-body.ts MAX_ID_LENGTH'],
  'products that a refusal names': ['intake.rule.ts MAX_NAMED'],
  'lines and bytes of an upload that are not answered': ['upload.rule.ts MAX_LINES', 'upload.rule.ts MAX_BYTES'],
  'a password': ['credentials.ts MAX_PASSWORD_BYTES'],
  'an e-mail address': ['credentials.ts MAX_EMAIL_LENGTH'],
  'the label of a key, and its networks': ['api-key.rule.ts MAX_LABEL_LENGTH', 'networks.ts MAX_NETWORKS'],
  'rules in one request': ['operators.schema.ts MAX_RULES'],
  'how long the feed waits': ['feed.schema.ts MAX_WAIT_SECONDS'],
  'streams and long polls of the feed, of one customer': ['followers.ts MAX_FOLLOWERS'],
  'refused bodies, in the store': ['refused-bodies.ts MAX_KEPT_BYTES'],
  'endpoints of webhooks, in the store': ['endpoints.rule.ts MAX_ENDPOINTS'],
  'connections to an endpoint': ['connections.ts MAX_CONNECTIONS'],
  "what is read of an endpoint's answer": ['exchange.ts MAX_BYTES'],
  "headers of an endpoint's own": ['headers.ts MAX_HEADERS'],
  'what a search of operators finds': ['find.rule.ts MAX_MATCHES'],
  'live views, and those of one operator': ['live.plugin.ts MAX_CONSOLES', 'live.plugin.ts MAX_OF_AN_OPERATOR'],
  'exports over HTTP, and those of one operator': [
    'exports.plugin.ts MAX_EXPORTS',
    'exports.plugin.ts MAX_EXPORTS_OF_ONE',
  ],
  'sessions of the console, of one operator, in the store': ['session.rule.ts MOST_OF_AN_OPERATOR'],
}

const sources = globSync('src/**/*.ts', { cwd: root })

function constant(named: string): number {
  const [file = '', name = ''] = named.split(' ')
  const declared = new RegExp(`^(?:export )?const ${name} = ([\\d_ *]+)$`, 'm')
  const [path = ''] = sources.filter((each) => basename(each) === file && declared.test(read(each)))
  const [, product = ''] = declared.exec(path === '' ? '' : read(path)) ?? []
  expect(product, named).not.toBe('')
  return product.split('*').reduce((value, factor) => value * Number(factor.replaceAll('_', '')), 1)
}

/** A number as pages write it: of bytes, or of anything else. */
const spellings = (value: number): string[] => {
  const inUnits = [`${value / 2 ** 20} MiB`, `${value / 2 ** 10} KiB`].filter((text) => /^\d+ /.test(text))
  return [value.toLocaleString('en'), ...inUnits]
}

describe('the limits in docs/reference.md', () => {
  const rows = new Map(
    Array.from(
      sectionOf('Limits').matchAll(/^\| ([^|]+) \| ([^|]+) \| ([^|]*)\|$/gm),
      ([, what = '', most = '', by = '']) => [what, { most, by: by.trim() }],
    ),
  )

  it.each(Object.entries(CONSTANTS))('are those of the code: %s', (what, constants) => {
    let rest = rows.get(what)?.most ?? ''
    for (const named of constants) {
      const found = spellings(constant(named)).find((text) => new RegExp(`(?<![\\d,])${text}(?!\\d|,\\d)`).test(rest))
      expect(found, `${named} in "${rest}"`).toBeDefined()
      rest = rest.slice(rest.indexOf(found ?? '') + (found ?? '').length)
    }
  })

  it('are those of the pages in the contract', () => {
    const pages = Object.entries(published.paths).flatMap(([path, operations]) =>
      Object.values(operations)
        .flatMap(({ parameters = [] }) => parameters)
        .filter(({ name }) => name === 'limit')
        .map(({ schema }) => ({ path, limits: `${schema.default} ${schema.maximum}` })),
    )
    const { '50 100': usual = [], ...others } = Object.groupBy(pages, ({ limits }) => limits)
    expect(usual.length).toBeGreaterThan(5)
    expect(
      Object.fromEntries(Object.entries(others).map(([limits, found]) => [limits, found?.map(({ path }) => path)])),
    ).toEqual({
      '100 100': ['/Purchase/detail/{orderId}', '/Customer/keys', '/Operator/customers'],
      '100 1000': ['/Purchase/feed'],
    })
    const lists = "100; 50 unless given, and 100 of keys, customers and an order's history"
    expect(rows.get('entries of a list, in one answer')?.most).toBe(lists)
    expect(rows.get('deliveries of the feed, in one answer')?.most).toMatch(/^1,000; 100 unless given;/)
  })

  it('are the defaults of the settings that change them', () => {
    const set = [...rows.values()].filter(({ by }) => by.startsWith('`'))
    expect(set.length).toBeGreaterThan(4)
    for (const { most, by } of set) {
      const setting = Object.values(settings).find(({ variable }) => by === `\`${variable}\``)
      expect(
        spellings(Number(setting?.default)).some((text) => most.includes(text)),
        `${by}: ${most}`,
      ).toBe(true)
    }
  })
})

/** The tables of a new store, each with its columns. */
const tablesOf: Record<StoreKind, (url: string) => Promise<Record<string, unknown>[]>> = {
  sqlite: async (url) => {
    using database = new DatabaseSync(url.replace('sqlite:', ''), { readOnly: true })
    const columns =
      "SELECT m.name AS table_name, c.name AS column_name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table'"
    return database.prepare(columns).all()
  },
  postgres: (url) =>
    runSql(url, 'SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema'),
}

describe.each(storesOfRun())('the tables of the store in docs/reference.md, on %s', async (kind, emptyStore) => {
  const section = sectionOf('Tables of the store')
  const codes = (text: string): string[] => Array.from(text.matchAll(/`(\w+)`/g), ([, code = '']) => code)
  const { DATABASE_URL: url } = await emptyStore()
  await createStoreWith(url, [])
  const tables = Map.groupBy(await tablesOf[kind](url), (row) => String(row.table_name))

  it('are all there are', () => {
    expect(tables.size).toBeGreaterThan(30)
    const named = new Set(codes(section))
    expect([...tables.keys()].filter((name) => !named.has(name))).toEqual([])
  })

  it('have the columns that are named', () => {
    const rows = Array.from(section.matchAll(/^\| (`[^|]+) \| [^|]+ \| ([^|]+) \|$/gm))
    expect(rows.length).toBeGreaterThan(10)
    for (const [, names = '', named = ''] of rows) {
      const columns = codes(names).flatMap((name) => tables.get(name) ?? [])
      const there = new Set(columns.map((row) => String(row.column_name)))
      expect(there.size, names).toBeGreaterThan(0)
      // Types and tables that a row refers to.
      expect(codes(named).filter((name) => !there.has(name) && name !== 'uuid' && !tables.has(name))).toEqual([])
    }
  })
})

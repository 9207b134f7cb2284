import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { COMMON_OPTIONS, type Option } from '#src/cli/command.ts'
import { loadCommands } from '#src/cli/command-table.ts'
import type { Setting } from '#src/config/setting-kinds.ts'
import { settings } from '#src/config/settings.ts'
import { english } from '#src/lib/messages/en.ts'
import { type Migration, readMigrations } from '#src/store/migrate.ts'
import { knownMigrations } from '#src/store/sqlite/migrations.ts'
import { contractNames, factsOf, type Named, type Schema } from './contract-names.ts'
import { readJsonShapes } from './json-shapes.ts'

const root = new URL('../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')

/** Every name that programs and scripts of others may use: by the code, and by pages that tests compare with it. */
export async function publicNames(): Promise<string> {
  const { types, commands } = readJsonShapes()
  return textOf([
    ...contractNames(parse(read('openapi.yaml'))),
    ...Array.from(types, ([name, schema]): Named => [`json ${name}`, factsOf(schema as Schema)]),
    ...Array.from(
      commands,
      ([name, { type = 'nothing', isLines }]): Named => [`output ${name}`, [isLines ? `${type}, one a line` : type]],
    ),
    ...(await commandNames()),
    ...(Object.values(settings) as Setting[]).map(settingName),
    ...rowsOf('docs/errors.md', '(?:status|code)').flatMap(([first = '', codes = '']) =>
      /^\d+$/.test(first)
        ? codesIn(codes).map((code): Named => [`error ${code}`, [`status ${first}`]])
        : codesIn(first).map((code): Named => [`error ${code}`, []]),
    ),
    ...Object.entries(english).map(
      ([code, text]): Named => [
        `message ${code}`,
        Array.from(text.matchAll(/\{(\w+)[^}]*\}/g), ([, value = '']) => value),
      ],
    ),
    [
      'log line of a request',
      codesIn(/Each request is one line, with [^.]*\./.exec(read('docs/monitoring.md'))?.[0] ?? ''),
    ],
    ...rowsOf('docs/monitoring.md', 'metric').flatMap(([metrics = '']) => codesIn(metrics).map(metricName)),
    ...rowsOf('docs/api-customers.md', 'claim').flatMap(([claims = '']) =>
      codesIn(claims).map((claim): Named => [`claim ${claim}`, []]),
    ),
    ...rowsOf('docs/reference.md', 'table').flatMap(([tables = '', , columns = '']) =>
      codesIn(tables).map((table): Named => [`table ${table}`, codesIn(columns)]),
    ),
    ...knownMigrations().map((each) => migrationName('sqlite', each)),
    ...readMigrations(new URL('src/store/postgres/migrations/', root)).map((each) => migrationName('postgresql', each)),
    ['container', read('Dockerfile').match(/^(?:VOLUME|EXPOSE|USER) .*$/gm) ?? []],
  ])
}

/**
 * One line for each name. Nothing of `before` goes: what is no longer promised is removed by hand. Nor is anything added that callers
 * of a known operation or command would have to send from then on.
 */
export function withNames(before: string, now: string): string {
  const demands = namesIn(now).flatMap(([name, facts]) => {
    const known = new Map(namesIn(before)).get(name)
    const added = facts.filter(
      (fact) => known && !known.includes(fact) && DEMANDS[name.split(' ', 1)[0] ?? '']?.test(fact),
    )
    return added.map((fact) => `${name}: ${fact}`)
  })
  if (demands.length > 0) throw new Error(`these break callers: ${demands.join(', ')}`)
  return textOf([...namesIn(before), ...namesIn(now)])
}

/** What must be sent, by kind of name: parameters and fields without `?`, arguments without brackets. */
const DEMANDS: Readonly<Record<string, RegExp>> = {
  operation: /^(?:(?:query|header) |body[.[])[^?"]*$/,
  command: /^(?:[^-[].*|--.*, required)$/,
}

/** What the first text has and the second has not. */
export function lostNames(before: string, now: string): string[] {
  const there = new Map(namesIn(now))
  return namesIn(before).flatMap(([name, facts]) => {
    const kept = there.get(name)
    if (kept === undefined) return [name]
    return facts.filter((fact) => !kept.includes(fact)).map((fact) => `${name}: ${fact}`)
  })
}

function textOf(names: readonly Named[]): string {
  const all = new Map<string, Set<string>>()
  for (const [name, facts] of names) all.set(name, new Set([...(all.get(name) ?? []), ...facts]))
  const lines = Array.from(all, ([name, facts]) =>
    [name, [...facts].toSorted(byText).join('; ')].filter(Boolean).join(': '),
  )
  return `${lines.toSorted(byText).join('\n')}\n`
}

const byText = (one: string, other: string): number => (one < other ? -1 : 1)

const namesIn = (text: string): Named[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [name = '', facts] = line.split(/: (.*)/, 2)
      return [name, facts?.split('; ') ?? []]
    })

async function commandNames(): Promise<Named[]> {
  const optionFacts = (options: Readonly<Record<string, Option>>): string[] =>
    Object.entries(options).flatMap(([name, { value, required = false, choices = {} }]) => [
      `--${name}${value === undefined ? '' : ' VALUE'}${required ? ', required' : ''}`,
      ...Object.keys(choices).map((choice) => `--${name} ${choice}`),
    ])
  return [
    ['every command', optionFacts(COMMON_OPTIONS)],
    ...(await loadCommands()).map(
      ({ name, positionals = [], options = {} }): Named => [
        `command ${name}`,
        [...positionals, ...optionFacts(options)],
      ],
    ),
  ]
}

const settingName = ({ variable, default: preset, choices = [] }: Setting): Named => [
  `setting ${variable}`,
  [`default ${[preset].flat().join() || 'none'}`, ...choices.map((choice) => `takes ${choice}`)],
]

/** `teslim_http_requests_total{method,route}`, or `{within="14d"}`. */
function metricName(text: string): Named {
  const [name = '', labels = ''] = text.replace('}', '').split('{')
  return [
    `metric ${name}`,
    labels
      .split(',')
      .filter(Boolean)
      .map((label) => label.replace(/=.*/, '')),
  ]
}

const migrationName = (store: string, { number, name, checksum }: Migration): Named => [
  `migration ${number} ${name}, ${store}`,
  [checksum],
]

const codesIn = (cell: string): string[] => Array.from(cell.matchAll(/`([^`]+)`/g), ([, code = '']) => code)

/** The cells of all rows below headings that begin with this one. */
function rowsOf(page: string, heading: string): string[][] {
  const tables = read(page).matchAll(new RegExp(`^\\| ${heading} \\|.*\n\\|[-| ]+\\|\n((?:\\|.*\n)+)`, 'gm'))
  return Array.from(tables).flatMap(([, rows = '']) =>
    rows
      .trimEnd()
      .split('\n')
      .map((row) => row.slice(2, -2).split(' | ')),
  )
}

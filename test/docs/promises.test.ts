import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readMigrations } from '#src/store/migrate.ts'
import { knownMigrations } from '#src/store/sqlite/migrations.ts'
import { lostNames, publicNames, withNames } from '../../tools/public-names.ts'
import { scrape, testOps } from '../support/app/scrape.ts'
import { addCustomer, PASSWORD, testApp } from '../support/app/test-app.ts'
import { published } from '../support/docs/contract.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const page = read('docs/promises.md')
const written = read('docs/names.txt')
const lines = written.trimEnd().split('\n')

/** Those of the list, with what is promised of each. */
const namesOf = (kind: string): string[] =>
  lines.filter((line) => line.startsWith(`${kind} `)).map((line) => line.slice(kind.length + 1).replace(/: .*/, ''))

describe('docs/names.txt', () => {
  it('has nothing that teslim no longer has: a name is promised until the next major version', async () => {
    expect(lostNames(written, await publicNames())).toEqual([])
  })

  it('has every name that teslim has now', async () => {
    expect(withNames(written, await publicNames()), 'run npm run openapi').toBe(written)
  })

  it('fails for each name, and each part of one, that goes', () => {
    const named = 'setting PORT: default 3000'
    const now = `${written}setting OLD: default a; takes a; takes b\n`
    expect(lostNames(now, `${written}setting OLD: default a; takes a\n`)).toEqual(['setting OLD: takes b'])
    expect(lostNames(now, written)).toEqual(['setting OLD'])
    expect(lostNames(written, now)).toEqual([])
    expect(lostNames(written, written.replace(named, 'setting PORT: default 80'))).toEqual([named])
    for (const line of lines) expect(lostNames(`${line}\n`, '').length, line).toBeGreaterThan(0)
  })

  it.each([
    ['operation login', 'body.Captcha string', 'body.Captcha? string'],
    ['operation login', 'header x-tenant string', 'header x-tenant? string'],
    ['operation purchaseList', 'query tenant string', 'query tenant? string'],
    ['command key issue', '--tenant VALUE, required', '--tenant VALUE'],
    ['command key revoke', 'REASON', '[REASON]'],
  ])('takes nothing that callers would have to send from then on: %s: %s', (name, demand, optional) => {
    expect(lines.some((line) => line.startsWith(`${name}: `))).toBe(true)
    expect(() => withNames(written, `${name}: ${demand}\n`)).toThrow(`${name}: ${demand}`)
    expect(withNames(written, `${name}: ${optional}\n`)).toContain(`; ${optional}`)
    expect(withNames(written, `operation new: ${demand}\n`)).toContain(demand)
  })

  it('keeps what goes, so that it is removed by hand or not at all', () => {
    const old = 'setting OLD: takes a\n'
    expect(withNames(old, 'setting OLD: takes b\nsetting NEW\n')).toBe('setting NEW\nsetting OLD: takes a; takes b\n')
  })
})

describe('docs/promises.md', () => {
  const codesIn = (text: string): string[] => Array.from(text.matchAll(/`([^`\n]+)`/g), ([, code = '']) => code)
  const kinds = Array.from(page.matchAll(/^\| (`[^|]+) \| [^|]+ \| [^|]+ \| `test/gm), ([, cell = '']) => codesIn(cell))
    .flat()
    .filter((kind) => lines.some((line) => line.startsWith(kind)))

  it('says what is promised of every kind of name', () => {
    expect(lines.filter((line) => !kinds.some((kind) => line.startsWith(kind)))).toEqual([])
  })

  it('names the oldest PostgreSQL that a server starts on', () => {
    const [, oldest] = /OLDEST_VERSION = (\d+)_/.exec(read('src/store/postgres/fitness.ts')) ?? []
    expect(page).toContain(`[${Number(oldest) / 10} and later](postgresql.md`)
  })

  it('says whether anything is deprecated', () => {
    const isAny = read('openapi.yaml').includes('deprecated: true')
    expect(page.includes('Nothing is deprecated')).toBe(!isAny)
    if (isAny) expect(read('CHANGELOG.md')).toMatch(/^### Deprecated$/m)
  })

  /** Everything by which somebody outside meets teslim, as the repository has it. */
  const surfaces: Readonly<Record<string, () => readonly string[] | Promise<readonly string[]>>> = {
    'the addresses of the contract': () =>
      Object.keys(published.paths).map((path) => /^\/[^/]*/.exec(path)?.[0] ?? path),
    'all other addresses': async () => {
      const { app } = await testApp()
      const routes = app.printRoutes({ commonPrefix: false, includeMeta: false })
      return Array.from(routes.matchAll(/^ {4}[├└]── ([^/\s(]+)/gm), ([, first = '']) => `/${first}`)
    },
    'the addresses of the second listener': () =>
      Array.from(read('src/ops/ops.ts').matchAll(/'(\/[a-z]+)'/g), ([, path = '']) => path),
    signals: () =>
      globSync('src/**/*.ts', { cwd: root }).flatMap((file) =>
        Array.from(read(file).matchAll(/'(SIG(?:HUP|INT|TERM|USR\d|QUIT|PIPE))'/g), ([, signal = '']) => signal),
      ),
    'variables that are no settings': () =>
      globSync('src/{config,webhook}/**/*.ts', { cwd: root }).flatMap((file) =>
        Array.from(read(file).matchAll(/'(OTEL_|[A-Z]+_PROXY)/g), ([, name = '']) => name),
      ),
    'files to copy': () => globSync('deploy/*', { cwd: root }).map((path) => basename(path)),
    'the guides': () => globSync('docs/*.md', { cwd: root }).map((path) => basename(path)),
  }

  it.each(Object.entries(surfaces))('names %s', async (_, find) => {
    const unnamed = ['performance-log.md', 'promises.md']
    const found = [...new Set(await find())].filter((each) => !unnamed.includes(each))
    expect(found.length).toBeGreaterThan(2)
    expect(found.filter((each) => !new RegExp(`(?<![\\w-])${RegExp.escape(each)}(?![\\w-])`, 'i').test(page))).toEqual(
      [],
    )
  })
})

it('the metrics of a service are those in docs/monitoring.md', async () => {
  const service = await testApp()
  await scrape(testOps(service))
  const described = Array.from(
    (await service.metrics.text('text')).matchAll(/^# TYPE (\S+)/gm),
    ([, name = '']) => name,
  )
  expect(described.length).toBeGreaterThan(20)
  expect(described.filter((name) => !namesOf('metric').includes(name))).toEqual([])
  const source = globSync('src/**/*.ts', { cwd: root }).map(read).join('\n')
  const stem = (name: string): string => name.replace(/_(total|used|available|p50|p90|p99|max)_(bytes|seconds)$/, '_')
  expect(namesOf('metric').filter((name) => !described.includes(name) && !source.includes(stem(name)))).toEqual([])
})

it('the line of a request in the log has the fields that docs/monitoring.md names', async () => {
  const { app, log, login, customers } = await testApp().then(async (service) => ({
    ...service,
    customers: await addCustomer(service),
  }))
  const token = (await login({ Email: customers.email, Password: PASSWORD })).json().data.Token
  log.length = 0
  await app.inject({ url: '/Purchase/detail/none', headers: { authorization: `Bearer ${token}` } })
  const fields = /^log line of a request: (.*)$/m.exec(written)?.[1]?.split('; ') ?? []
  expect(fields.length).toBeGreaterThan(5)
  const [line] = log.filter(({ route }) => route !== undefined)
  expect(fields.filter((field) => (line?.[field] ?? null) === null)).toEqual([])
})

it('a migration after the first one leaves the version before it at work', () => {
  const all = [...knownMigrations(), ...readMigrations(new URL('src/store/postgres/migrations/', root))]
  expect(all.filter(({ number, oldest }) => number > 1 && oldest >= number)).toEqual([])
})

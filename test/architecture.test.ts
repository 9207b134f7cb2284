import { globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

const MAX_FILE = 300
const FULLEST_FOLDER = 20

const files = globSync('src/**/*.{ts,tsx}').sort()
const others = globSync('{test,bench,tools}/**/*.ts').sort()
const sources = new Map([...files, ...others].map((file) => [file, readFileSync(file, 'utf8')]))

const MODULES = ['audit', 'console', 'customer', 'docs', 'login', 'purchase', 'token', 'webhook']
const SHELVES = ['cli', 'config', 'doctor', 'http', 'lib', 'ops', 'page', 'serving', 'store']

type Kind =
  | 'main'
  | 'server'
  | 'app'
  | 'plugin'
  | 'rule'
  | 'cli'
  | 'config'
  | 'doctor'
  | 'http'
  | 'ops'
  | 'store'
  | 'lib'
  | 'page'

interface Place {
  readonly kind: Kind
  readonly module: string
}

function placeOf(file: string): Place {
  const [, module = '', ...rest] = file.split('/')
  const process = ['main', 'server', 'app'].find((name) => module === `${name}.ts`)
  // What runs in a browser: src/page is what several pages share.
  if (module === 'page' || (MODULES.includes(module) && rest[0] === 'page')) return { kind: 'page', module }
  if (process !== undefined) return { kind: process as Kind, module }
  if (module === 'serving') return { kind: 'server', module }
  if (SHELVES.includes(module) && rest.length > 0) {
    return { kind: file.endsWith('.plugin.ts') ? 'plugin' : (module as Kind), module }
  }
  if (MODULES.includes(module)) return { kind: file.endsWith('.plugin.ts') ? 'plugin' : 'rule', module }
  throw new Error(`${file} belongs to no module`)
}

/** The other modules whose rules a module's rules may use. */
const NEIGHBOURS: Record<string, readonly string[]> = {
  login: ['customer', 'token'],
  purchase: ['customer'],
  console: ['customer', 'purchase'],
  customer: ['audit'],
  token: ['customer'],
  docs: ['purchase', 'token', 'webhook'],
  webhook: ['audit', 'customer', 'purchase', 'token'],
}

/** Folders of which none may use another. What two of them need stands in their parent. */
const SIBLINGS: Record<string, readonly string[]> = {
  'src/purchase': ['intake', 'orders', 'deliveries', 'refusals', 'feed', 'purge', 'stats'],
  'src/console': ['live', 'health', 'session'],
  'src/webhook': ['push', 'endpoints'],
  'src/store': ['sqlite', 'postgres'],
  'src/cli': ['backup', 'customer', 'key', 'purchase', 'webhook'],
}

const FRAMEWORK = /^(@?fastify|@fastify\/.*|fastify-plugin)$/
const DRIVER = /^(node:sqlite|pg)$/
/** All that a page has of others. */
const IN_PAGES = /^(preact(\/.*)?|@preact\/signals)$/

const STORE_DOORS = [
  'src/store/open-store.ts',
  'src/store/await-store.ts',
  'src/store/copy/copy-store.ts',
  'src/store/backup/backup-store.ts',
  'src/store/backup/restore-store.ts',
]

/** What the app needs before there is a server that plugins can be registered with. */
const APP_PARTS = ['src/http/server-options.ts', 'src/http/request-log.ts']

/** The table of who may import whom. Type-only imports count too, except where the table says otherwise. */
function mayImport(from: Place, target: string, to: Place | undefined, typeOnly: boolean): boolean {
  if (to === undefined) {
    if (/^(\.|\/|test|tools|bench)/.test(target)) return false
    if (from.kind === 'page' || IN_PAGES.test(target))
      return from.kind === 'page' && (typeOnly || IN_PAGES.test(target))
    if (target === 'node:process' || target === 'node:module') return false
    if (DRIVER.test(target)) return from.kind === 'store'
    if (FRAMEWORK.test(target)) return ['app', 'plugin', 'http', 'ops'].includes(from.kind)
    return true
  }
  if (from.kind === 'page') {
    if (to.kind === 'page') return to.module === from.module || to.module === 'page'
    // Answers have the types of the server; what a page runs of it imports nothing of Node, or it could not be bundled.
    return typeOnly || ['lib', 'rule'].includes(to.kind)
  }
  if (to.kind === 'page') return false
  if (to.kind === 'lib') return true
  const port = target === 'src/store/store.ts' || target === 'src/store/store.errors.ts'
  switch (from.kind) {
    case 'lib':
      return false
    case 'main':
      return ['server', 'cli', 'config'].includes(to.kind) || target === 'src/store/open-store.ts' || typeOnly
    case 'server':
      return ['server', 'app', 'ops', 'config'].includes(to.kind) || target === 'src/store/open-store.ts' || typeOnly
    case 'app':
      return to.kind === 'plugin' || APP_PARTS.includes(target) || typeOnly
    case 'plugin':
      // A route names what it can refuse, whichever module defines it.
      if (to.kind === 'http' || target.endsWith('.errors.ts')) return true
      return (to.module === from.module && to.kind === 'rule') || (typeOnly && (to.kind === 'config' || port))
    case 'rule':
      if (to.kind === 'rule') return to.module === from.module || (NEIGHBOURS[from.module] ?? []).includes(to.module)
      if (to.kind === 'doctor') return from.module === 'console'
      // The contract describes HTTP.
      if (to.kind === 'http') return from.module === 'docs'
      return port || (typeOnly && to.kind === 'config')
    case 'http':
      return to.kind === 'http' || (typeOnly && (to.kind === 'config' || port))
    case 'ops':
      return ['ops', 'http', 'config'].includes(to.kind) || (typeOnly && port)
    case 'cli':
      return ['cli', 'doctor', 'rule', 'config'].includes(to.kind) || port || STORE_DOORS.includes(target)
    case 'doctor':
      return ['doctor', 'rule', 'config'].includes(to.kind) || port || target === 'src/store/open-store.ts'
    case 'store':
      return to.kind === 'store'
    case 'config':
      return to.kind === 'config'
  }
}

interface Import {
  readonly target: string
  readonly typeOnly: boolean
}

function importsOf(file: string): Import[] {
  const source = sources.get(file) ?? ''
  const found = source.matchAll(/^\s*(?:import|export)\s(type\s)?(?:[^'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm)
  const dynamic = source.matchAll(/\bimport\(\s*['"]([^'"]+)['"]/g)
  return [
    ...Array.from(found, ([, type, target = '']) => ({ target: resolve(file, target), typeOnly: type !== undefined })),
    ...Array.from(dynamic, ([, target = '']) => ({ target: resolve(file, target), typeOnly: false })),
  ]
}

function resolve(file: string, target: string): string {
  if (target.startsWith('#src/')) return target.slice(1)
  return target.startsWith('.') ? join(dirname(file), target) : target
}

/** The child of `folder` that a file stands in. */
const childOf = (folder: string, file: string): string | undefined =>
  file.startsWith(`${folder}/`) ? file.slice(folder.length + 1).split('/')[0] : undefined

/** Every circle of imports, as the files on it (Tarjan's strongly connected components). */
function circlesAmong(names: readonly string[]): string[][] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const circles: string[][] = []
  const visit = (name: string): number => {
    const index = order.size
    order.set(name, index)
    lowest.set(name, index)
    open.push(name)
    for (const { target } of importsOf(name)) {
      if (!names.includes(target)) continue
      const reached = order.has(target) ? (open.includes(target) ? (order.get(target) ?? index) : index) : visit(target)
      lowest.set(name, Math.min(lowest.get(name) ?? index, reached))
    }
    if (lowest.get(name) === index) {
      const circle = open.splice(open.indexOf(name))
      if (circle.length > 1) circles.push(circle.sort())
    }
    return lowest.get(name) ?? index
  }
  for (const name of names) if (!order.has(name)) visit(name)
  return circles
}

/** What each plugin adds to the app, a request or a reply, by the name of the plugin that a user has to depend on. */
function decorators(): Map<string, string> {
  const found = new Map<string, string>()
  for (const file of files.filter((name) => name.endsWith('.plugin.ts'))) {
    const source = sources.get(file) ?? ''
    const plugin = /name: '([^']+)'/.exec(source.slice(source.lastIndexOf('fastifyPlugin(')))?.[1]
    for (const [, name = ''] of source.matchAll(/\.decorate(?:Request|Reply)?\('(\w+)'/g)) {
      found.set(name, plugin ?? file)
    }
  }
  return found
}

describe('the house', () => {
  it('has no import that the table does not allow', () => {
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter(({ target, typeOnly }) => {
          const to = target.startsWith('src/') ? placeOf(target) : undefined
          return !mayImport(placeOf(file), target, to, typeOnly)
        })
        .map(({ target }) => `${file} -> ${target}`),
    )
    expect(wrong).toEqual([])
  })

  it('has no module that the table does not name, and the table names none that is not there', () => {
    const folders = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory())
    expect(folders.map(({ name }) => name).sort()).toEqual([...MODULES, ...SHELVES].sort())
  })

  it('has no import between folders that stand side by side in a module', () => {
    const wrong = Object.entries(SIBLINGS).flatMap(([folder, siblings]) =>
      files.flatMap((file) => {
        const own = childOf(folder, file)
        if (own === undefined || !siblings.includes(own)) return []
        const foreign = importsOf(file).filter(({ target }) => {
          const other = childOf(folder, target)
          return other !== undefined && other !== own && siblings.includes(other)
        })
        return foreign.map(({ target }) => `${file} -> ${target}`)
      }),
    )
    expect(wrong).toEqual([])
  })

  it('has one text for both databases that knows neither', () => {
    const others = files
      .filter((file) => file.startsWith('src/store/sql/'))
      .flatMap((file) => importsOf(file).map(({ target }) => `${file} -> ${target}`))
      .filter((line) => /-> (src\/store\/(sqlite|postgres|copy|backup)\/|node:sqlite|pg$)/.test(line))
    expect(others).toEqual([])
  })

  it('writes every part of the store as operations', () => {
    const ports = ['sqlite', 'postgres'].map((database) => sources.get(`src/store/${database}/${database}-store.ts`))
    const nouns = (text = '') => Array.from(text.matchAll(/(?:sqlite|postgres)Noun\(/g)).length
    for (const port of ports) expect(nouns(port)).toBeGreaterThanOrEqual(9)
  })

  it('has no circle of imports, not even of types', () => {
    expect(circlesAmong(files)).toEqual([])
    expect(circlesAmong(others)).toEqual([])
  })

  it('uses what a plugin adds only where that plugin is a declared dependency', () => {
    const wrong = [...decorators()].flatMap(([name, plugin]) => {
      const use = new RegExp(
        `\\b(?:app|scope|request|reply|server)\\.${name}\\b|\\(\\{[^{}()]*\\b${name}\\b[^{}()]*\\}[,)]`,
      )
      const users = files.filter(
        (file) => FRAMEWORK_KINDS.includes(placeOf(file).kind) && use.test(sources.get(file) ?? ''),
      )
      return users.filter((file) => !declares(file, plugin)).map((file) => `${file} uses ${name} of ${plugin}`)
    })
    expect(wrong).toEqual([])
  })

  it('reads every import line that there is', () => {
    const lines = files.flatMap((file) => sources.get(file)?.match(/^(import|\} from|export .* from)\b.*['"]/gm) ?? [])
    expect(files.flatMap(importsOf).length).toBeGreaterThanOrEqual(lines.length)
  })

  it(`has no file longer than ${MAX_FILE} lines`, () => {
    const long = files.filter((file) => (sources.get(file)?.split('\n').length ?? 0) > MAX_FILE + 1)
    expect(long).toEqual([])
  })

  it(`has no folder of more than ${FULLEST_FOLDER} files at one level`, () => {
    const folders = Object.groupBy(files, dirname)
    expect(Object.keys(folders).filter((folder) => (folders[folder]?.length ?? 0) > FULLEST_FOLDER)).toEqual([])
  })

  it('loads nothing by a name that is put together, nor past the import lines', () => {
    const evasive = /\bimport\((?!\s*['"])|getBuiltinModule|createRequire|\brequire\(/
    expect(files.filter((file) => evasive.test(sources.get(file) ?? ''))).toEqual([])
  })

  it('leans on private parts of Node in one file, whose test notices a version of Node that changes them', () => {
    const parts =
      /\._[a-z]|\{ _[a-z]|getOwnPropertySymbols|(?:closeIdleConnections|destroySoon) =|'finish', \w+\.destroy/
    expect(files.filter((file) => parts.test(sources.get(file) ?? ''))).toEqual([
      'src/http/connections/node-internals.ts',
    ])
  })

  it('asks for argv, exits and reads the environment in main.ts only', () => {
    const users = files.filter((file) => /process\.(exit|argv|env)\b/.test(sources.get(file) ?? ''))
    expect(users).toEqual(['src/main.ts'])
  })

  it('opens files by other means than SQLite only where none of them can be a live store', () => {
    // Closing any descriptor of the store's file drops the process's locks on it. stat and statfs open nothing, readdir only folders.
    const harmless =
      /^import(?: type)? \{ (?:(?:type \w+|accessSync|constants|existsSync|fstatSync|stat|statSync|statfs|statfsSync|mkdirSync|readdir|readdirSync|realpathSync|rmSync|writeSync)(?:, )?)+ \}/
    const openers = files.filter((file) => {
      const imports = sources.get(file)?.match(/^import [^']*'node:fs(?:\/promises)?'$/gm) ?? []
      return imports.some((each) => !harmless.test(each.replaceAll(/\s+/g, ' ').replace(', }', ' }')))
    })
    expect(openers).toEqual([
      // Its process opens no store.
      'src/cli/purchase/deliver/deliver.ts',
      'src/config/env-file.ts',
      'src/config/secret-file.ts',
      'src/lib/certificate.ts',
      'src/lib/folder-of-another.ts',
      // Files of the program itself.
      'src/lib/program-files.ts',
      // These two: files of /proc only.
      'src/ops/process-metrics.ts',
      'src/serving/npm.ts',
      'src/store/backup/backup-files.ts',
      'src/store/backup/restore-store.ts',
      'src/store/sqlite/locks/file-locks.ts',
      'src/store/sqlite/store-file.ts',
    ])
  })

  it('has SQL in the store only', () => {
    const sql = /\b(select\b[^']*\bfrom\s+\w+\s+where|insert into|update \w+ set|delete from|pragma)\b/i
    expect(
      files.filter((file) => sql.test(sources.get(file) ?? '')).every((file) => file.startsWith('src/store/')),
    ).toBe(true)
  })

  it('lets rules refuse by themselves: none is handed what makes a refusal, or returns problems for others to refuse', () => {
    const handed = /\w+\??: \([^()]*\) => (?:AppError|Error)\b/
    const returned = /\breadonly (?:problems|refusal): /
    const rules = files.filter((file) => placeOf(file).kind === 'rule')
    expect(rules.filter((file) => handed.test(sources.get(file) ?? ''))).toEqual([])
    expect(rules.filter((file) => returned.test(sources.get(file) ?? ''))).toEqual([])
    const named = rules.filter(
      (file) => /\.rule\.ts$/.test(file) && /: ErrorDefinition\b/.test(sources.get(file) ?? ''),
    )
    expect(named).toEqual([])
  })

  it('has no clock and no randomness of its own in a rule', () => {
    const rules = files.filter((file) => placeOf(file).kind === 'rule')
    expect(
      rules.filter((file) =>
        /Date\.now\(|new Date\(\)|Math\.random|randomBytes|randomUUID/.test(sources.get(file) ?? ''),
      ),
    ).toEqual([])
  })
})

const FRAMEWORK_KINDS: readonly Kind[] = ['app', 'server', 'plugin', 'http']

function declares(file: string, plugin: string): boolean {
  const source = sources.get(file) ?? ''
  const registration = source.slice(source.lastIndexOf('fastifyPlugin('))
  return (
    registration.includes(`name: '${plugin}'`) ||
    /dependencies: \[[^\]]*/.exec(registration)?.[0].includes(`'${plugin}'`) === true
  )
}

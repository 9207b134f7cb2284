import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

const LONGEST_FILE = 300
const files = globSync('src/**/*.ts').sort()
const sources = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]))

const ROOMS = ['audit', 'login', 'token', 'customer', 'purchase', 'docs', 'console']

type Kind = 'main' | 'server' | 'app' | 'plugin' | 'rule' | 'cli' | 'config' | 'http' | 'store' | 'lib'

interface Place {
  readonly kind: Kind
  readonly room: string
}

function placeOf(file: string): Place {
  const [, room = '', ...rest] = file.split('/')
  if (room === 'main.ts') return { kind: 'main', room }
  if (room === 'server.ts') return { kind: 'server', room }
  if (room === 'app.ts') return { kind: 'app', room }
  if (file.endsWith('.plugin.ts')) return { kind: 'plugin', room }
  if (ROOMS.includes(room)) return { kind: 'rule', room }
  if (['cli', 'config', 'http', 'store', 'lib'].includes(room) && rest.length > 0) return { kind: room as Kind, room }
  throw new Error(`${file} lies in no room`)
}

/** Which rooms' rules a room's rules may use, besides their own. */
const NEIGHBOURS: Record<string, readonly string[]> = {
  login: ['customer', 'token'],
  purchase: ['customer'],
  customer: ['audit'],
}

const FRAMEWORK = /^(@?fastify|@fastify\/.*|fastify-plugin)$/
const DRIVER = /^(node:sqlite|pg)$/

const STORE_DOORS = ['src/store/open-store.ts', 'src/store/copy/copy-store.ts']

/** The table of who may import whom. Type-only imports count too, but for the ones named. */
function mayImport(from: Place, target: string, to: Place | undefined, typeOnly: boolean): boolean {
  if (to === undefined) {
    if (/^(\.|\/|test|tools|bench)/.test(target)) return false
    if (target === 'node:process' || target === 'node:module') return false
    if (DRIVER.test(target)) return from.kind === 'store'
    if (FRAMEWORK.test(target)) return ['app', 'plugin', 'http'].includes(from.kind)
    return true
  }
  if (to.kind === 'lib') return true
  const port = target === 'src/store/store.ts' || target === 'src/store/store.errors.ts'
  switch (from.kind) {
    case 'lib':
      return false
    case 'main':
      return ['server', 'cli', 'config'].includes(to.kind) || target === 'src/store/open-store.ts' || typeOnly
    case 'server':
      return to.kind === 'app' || typeOnly
    case 'app':
      return ['http', 'plugin'].includes(to.kind) || typeOnly
    case 'plugin':
      if (to.kind === 'http') return true
      return to.room === from.room || (typeOnly && (to.kind === 'config' || port))
    case 'rule':
      if (to.kind === 'rule') return to.room === from.room || (NEIGHBOURS[from.room] ?? []).includes(to.room)
      return port || (typeOnly && to.kind === 'config')
    case 'http':
      return to.room === 'http' || (typeOnly && (to.kind === 'config' || port))
    case 'cli':
      return ['cli', 'rule', 'config'].includes(to.kind) || port || STORE_DOORS.includes(target)
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

  it('reads every import line that there is', () => {
    const lines = [...sources.values()].join('\n').match(/^(import|\} from|export .* from)\b.*['"]/gm) ?? []
    expect(files.flatMap(importsOf).length).toBeGreaterThanOrEqual(lines.length)
  })

  it(`has no file longer than ${LONGEST_FILE} lines`, () => {
    const long = files.filter((file) => (sources.get(file)?.split('\n').length ?? 0) > LONGEST_FILE + 1)
    expect(long).toEqual([])
  })

  it('loads nothing by a name that is put together, nor past the import lines', () => {
    const evasive = /\bimport\((?!\s*['"])|getBuiltinModule|createRequire|\brequire\(/
    expect(files.filter((file) => evasive.test(sources.get(file) ?? ''))).toEqual([])
  })

  it('asks for argv, exits and reads the environment in main.ts only', () => {
    const users = files.filter((file) => /process\.(exit|argv|env)\b/.test(sources.get(file) ?? ''))
    expect(users).toEqual(['src/main.ts'])
  })

  it('opens files by other means than SQLite only where none of them can be a live store', () => {
    // Closing any descriptor of the store's file drops the process's locks on it. stat and statfs open nothing.
    const harmless =
      /^import(?: type)? \{ (?:(?:type \w+|accessSync|constants|stat|statSync|statfs|statfsSync|mkdirSync|readdirSync|realpathSync|writeSync)(?:, )?)+ \}/
    const openers = files.filter((file) => {
      const lines = sources.get(file)?.match(/^import .*'node:fs(?:\/promises)?'$/gm) ?? []
      return lines.some((line) => !harmless.test(line))
    })
    expect(openers).toEqual([
      'src/config/env-file.ts',
      'src/config/secret-file.ts',
      'src/docs/docs.plugin.ts',
      'src/http/tls/certificate.ts',
      'src/store/migrate.ts',
      'src/store/sqlite/file-locks.ts',
      'src/store/sqlite/store-file.ts',
    ])
  })

  it('has SQL in the store only', () => {
    const sql = /\b(select\b[^']*\bfrom\s+\w+\s+where|insert into|update \w+ set|delete from|pragma)\b/i
    expect(
      files.filter((file) => sql.test(sources.get(file) ?? '')).every((file) => file.startsWith('src/store/')),
    ).toBe(true)
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

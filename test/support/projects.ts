import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Modules by which a test leaves its own process. A PostgreSQL server is started by the first of them. */
const LEAVES_PROCESS = ['node:child_process', 'playwright-core']

/** Needs a PostgreSQL server only where a project names that store. */
const STORES = join('test/support/stores.ts')

const IMPORT = /^(?:(?:import|export)\b[^'\n]*|\} from )'([^']+)'/gm
const imports = (file: string) => readFileSync(file, 'utf8').matchAll(IMPORT)

/** What a file imports, as its import lines spell it. */
export const importsOf = (file: string): string[] => Array.from(imports(file), ([, target = '']) => target)

/** What a file loads, as paths where they are of test/: of types nothing is left. */
const loadedBy = (file: string): string[] =>
  Array.from(imports(file))
    .filter(([line]) => !line.startsWith('import type '))
    .map(([, target = '']) => (target.startsWith('.') ? join(dirname(file), target) : target))

/** All that a file of test/ loads, itself or through others of test/, but for what stores.ts does. */
function reachedFrom(file: string): Set<string> {
  const reached = new Set(loadedBy(file))
  // Grows meanwhile.
  for (const target of reached)
    if (/^test.*\.ts$/.test(target) && target !== STORES) for (const each of loadedBy(target)) reached.add(each)
  return reached
}

/** Test files that measure a server at its limits, or hold eight endings in turn to a second: whatever runs beside them would be measured too. */
const alone = [...globSync('test/e2e/overload/*.test.ts'), join('test/e2e/revocation.test.ts')]
const others = globSync('test/**/*.test.ts').filter((file) => !alone.includes(file))

/** Test files that wait for seconds until time limits are over. */
const WAIT = [
  'test/purchase/intake/rate-limit.test.ts',
  'test/purchase/intake/upload.test.ts',
  'test/webhook/send/connections.test.ts',
].map((file) => join(file))
const leavesProcess = (file: string): boolean => LEAVES_PROCESS.some((module) => reachedFrom(file).has(module))
const isSlow = (file: string): boolean => WAIT.includes(file) || leavesProcess(file)
const isOnBoth = (file: string): boolean => !isSlow(file) && reachedFrom(file).has(STORES)

/** Test files by what they need. Those of `bothStores` are fast if SQLite is all they run on. */
export const filesOf = {
  fast: others.filter((file) => !isSlow(file) && !isOnBoth(file)),
  bothStores: others.filter(isOnBoth),
  processes: others.filter(isSlow),
  alone,
}

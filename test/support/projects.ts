import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Modules by which a test leaves its own process. A PostgreSQL server is started by the first of them. */
const LEAVES_PROCESS = ['node:child_process', 'playwright-core']

/** Needs a PostgreSQL server only where a project names that store. */
const STORES = join('test/support/store/stores.ts')

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
  'test/http/connection-shares.test.ts',
  'test/purchase/intake/rate-limit.test.ts',
  'test/purchase/intake/upload.test.ts',
  'test/webhook/send/connections.test.ts',
].map((file) => join(file))
const leavesProcess = (file: string): boolean => LEAVES_PROCESS.some((module) => reachedFrom(file).has(module))
const leavesOrWaits = (file: string): boolean => WAIT.includes(file) || leavesProcess(file)
const isOnBoth = (file: string): boolean => !leavesOrWaits(file) && reachedFrom(file).has(STORES)

/** In processes and browsers nearly everything takes long. `npm test` has two of these files all the same: no delivery is lost by a kill. */
const SLOW = /^test\/(?:build|console|e2e|examples)\//
const QUICK = ['test/e2e/kill.test.ts', 'test/e2e/process.test.ts'].map((file) => join(file))
/** Files elsewhere that take more than a minute of a busy machine, most of them on both stores. */
const LONG = [
  'test/cli/erase.test.ts',
  'test/deploy/container.test.ts',
  'test/store/erasure-races.test.ts',
  'test/store/pgbouncer.test.ts',
  'test/store/postgres-gaps.test.ts',
  'test/store/postgres-plans.test.ts',
  'test/webhook/processes.test.ts',
].map((file) => join(file))
const isLong = (file: string): boolean =>
  alone.includes(file) ||
  LONG.includes(file) ||
  reachedFrom(file).has('playwright-core') ||
  (SLOW.test(file) && !QUICK.includes(file) && leavesProcess(file))

/** Looks longer in `npm run test:slow` than in any other run. */
const isRandom = (file: string): boolean => reachedFrom(file).has(join('test/support/random-runs.ts'))

/** Which test files a run has by its mode, if not all of them. */
const IN_MODE: Record<string, (file: string) => boolean> = {
  // `npm test`
  usual: (file) => !isLong(file),
  // `npm run test:slow`
  slow: (file) => isLong(file) || isRandom(file),
}

/** Test files by what they need. `npm run test:fast`, whose mode is `fast`, has only the first of them, and what runs on both stores on SQLite. */
export function filesOf(mode: string) {
  const isIn = IN_MODE[mode] ?? (() => true)
  const onBoth = others.filter(isOnBoth)
  const fast = others.filter((file) => !leavesOrWaits(file) && !isOnBoth(file))
  return {
    fast: (mode === 'fast' ? [...fast, ...onBoth] : fast).filter(isIn),
    processes: [...onBoth, ...others.filter(leavesOrWaits)].filter(isIn),
    alone: alone.filter(isIn),
  }
}

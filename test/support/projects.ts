import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Modules by which a test leaves its own process. A PostgreSQL server is started by the first of them. */
const LEAVES_PROCESS = ['node:child_process', 'playwright-core']

const IMPORT = /^(?:(?:import|export)\b[^'\n]*|\} from )'([^']+)'/gm

/** What a file imports, as its import lines spell it. */
export const importsOf = (file: string): string[] =>
  Array.from(readFileSync(file, 'utf8').matchAll(IMPORT), ([, target = '']) => target)

const known = new Map<string, boolean>()

/** Whether a test file, or a module of test/ that it imports, leaves its own process. */
function leavesProcess(file: string): boolean {
  const before = known.get(file)
  if (before !== undefined) return before
  known.set(file, false)
  const leaves = importsOf(file).some(
    (target) =>
      LEAVES_PROCESS.includes(target) ||
      (target.startsWith('.') && target.endsWith('.ts') && leavesProcess(join(dirname(file), target))),
  )
  known.set(file, leaves)
  return leaves
}

/** Test files that measure a server at its limits, or how many seconds something takes: whatever runs beside them would be measured too. */
const alone = [...globSync('test/e2e/{overload,ha}/*.test.ts'), join('test/e2e/revocation.test.ts')]
const others = globSync('test/**/*.test.ts').filter((file) => !alone.includes(file))

/** Test files that wait for seconds until time limits are over. */
const WAIT = [
  'test/purchase/intake/rate-limit.test.ts',
  'test/purchase/intake/upload.test.ts',
  'test/webhook/send/connections.test.ts',
].map((file) => join(file))
const isSlow = (file: string): boolean => WAIT.includes(file) || leavesProcess(file)

/** The test files of each Vitest project. */
export const filesOf = {
  fast: others.filter((file) => !isSlow(file)),
  processes: others.filter(isSlow),
  alone,
}

import { appendFileSync } from 'node:fs'
import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { isMainThread } from 'node:worker_threads'

/**
 * Loaded with `--import` into each thread of a server under measurement: writes a line for everything that held a thread up for
 * `MIN_MILLISECONDS` or more to the file that `BENCH_STALLS` names.
 */
const MIN_MILLISECONDS = 5
const file = process.env.BENCH_STALLS ?? ''

const note = (what: string, milliseconds: number): void => {
  if (milliseconds >= MIN_MILLISECONDS) appendFileSync(file, `${what}\t${milliseconds.toFixed(1)}\n`)
}

/** The function, measured wherever `nameOf` gives a name. */
function measured<Self, Args extends unknown[], Result>(
  work: (this: Self, ...args: Args) => Result,
  nameOf: (args: Args, self: Self) => string | undefined,
) {
  return function (this: Self, ...args: Args): Result {
    const name = nameOf(args, this)
    if (name === undefined) return work.apply(this, args)
    const start = performance.now()
    try {
      return work.apply(this, args)
    } finally {
      note(name, performance.now() - start)
    }
  }
}

const thread = isMainThread ? 'request thread' : 'another thread'
const KINDS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weak callbacks',
}
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const { duration } = entry
    const { kind } = (entry as PerformanceEntry & { readonly detail: { readonly kind: number } }).detail
    note(`${thread}: garbage collection, ${KINDS[kind] ?? kind}`, duration)
  }
}).observe({ entryTypes: ['gc'] })

/** The thread that commits is the writer. */
let commits = false
const { exec } = DatabaseSync.prototype
DatabaseSync.prototype.exec = measured(exec, ([sql]) => {
  if (sql !== 'COMMIT') return undefined
  commits = true
  return 'writer: commit'
})
const { get } = StatementSync.prototype
StatementSync.prototype.get = measured(get as () => undefined, (_, { sourceSQL }: StatementSync) => {
  if (!sourceSQL.startsWith('PRAGMA wal_checkpoint(PASSIVE)')) return undefined
  return commits ? 'writer: checkpoint' : 'beside the writer: checkpoint'
}) as typeof get

if (isMainThread) {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  setInterval(() => {
    note('request thread: longest turn', delay.max / 1e6)
    delay.reset()
  }, 100).unref()
}

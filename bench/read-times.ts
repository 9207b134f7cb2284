import { closeSync, globSync, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { median, printTable, say } from './report.ts'

const REQUESTS = 1000
/** So that none of those measured is the first one to run some code. */
const WARM_UP = 300

/**
 * Sends each kind of request in turn, one request at a time, and prints how long they took. The files of `folder` are read before each
 * round: they are to be in memory, also on a machine that takes memory away from what was not used for a while.
 */
export async function printTimes(
  kinds: Readonly<Record<string, () => Promise<unknown>>>,
  { rounds, folder }: { readonly rounds: number; readonly folder: string },
): Promise<void> {
  const results = new Map<string, { p50: number; p99: number }[]>(Object.keys(kinds).map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    readAll(folder)
    for (const [name, request] of Object.entries(kinds)) results.get(name)?.push(await timesOf(request))
  }
  say(`one request at a time, medians of ${rounds} rounds of ${REQUESTS}`)
  const rows = Array.from(results, ([name, times]) => [
    name,
    median(times.map(({ p50 }) => p50)).toFixed(2),
    median(times.map(({ p99 }) => p99)).toFixed(2),
  ])
  printTable(['request', 'p50 ms', 'p99 ms'], rows)
}

export async function timesOf(
  request: () => Promise<unknown>,
  { requests, warmUp } = { requests: REQUESTS, warmUp: WARM_UP },
): Promise<{ p50: number; p99: number }> {
  for (let warm = 0; warm < warmUp; warm++) await request()
  const times: number[] = []
  for (let done = 0; done < requests; done++) {
    const start = performance.now()
    await request()
    times.push(performance.now() - start)
  }
  times.sort((one, other) => one - other)
  return { p50: times[requests * 0.5] ?? 0, p99: times[requests * 0.99] ?? 0 }
}

const PIECE = Buffer.alloc(1024 * 1024)

export function readAll(folder: string): void {
  for (const path of globSync(join(folder, '**'))) {
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) continue
    const file = openSync(path, 'r')
    while (readSync(file, PIECE) > 0);
    closeSync(file)
  }
}

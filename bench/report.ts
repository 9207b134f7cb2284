import { execFileSync } from 'node:child_process'
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return ((sorted[Math.floor((sorted.length - 1) / 2)] ?? 0) + (sorted[Math.ceil((sorted.length - 1) / 2)] ?? 0)) / 2
}

type Row = Readonly<Record<string, string>>
interface Found {
  head: Row
  readonly tables: Row[][]
  readonly lines: string[]
}

/** What was found so far, where it is to be printed as JSON. */
let collected: Found | undefined

/** From here on nothing is printed until the function that it returns is called, which prints one JSON value. */
export function collectJson(): () => void {
  const found: Found = { head: {}, tables: [], lines: [] }
  collected = found
  return () => console.log(JSON.stringify(found, undefined, 2))
}

export function say(text: string): void {
  if (collected === undefined) console.log(text)
  else if (text !== '') collected.lines.push(text.trim())
}

/** In JSON each row is an object by its heading; a heading that stands there twice has a number. */
export function printTable(heading: readonly string[], rows: readonly (readonly string[])[]): void {
  if (collected !== undefined) {
    const names = heading.map((name, column) => (heading.indexOf(name) === column ? name : `${name} ${column}`))
    collected.tables.push(rows.map((row) => Object.fromEntries(names.map((name, column) => [name, row[column] ?? '']))))
    return
  }
  const widths = heading.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)))
  for (const row of [heading, ...rows])
    console.log(row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join('  '))
}

/** Says on what the figures depend. */
export function printHead(name: string, folder: string): void {
  const [first] = cpus()
  const head = {
    measured: name,
    on: new Date().toISOString().slice(0, 10),
    machine: `${cpus().length} x ${first?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    busy: `load ${loadavg()[0]?.toFixed(1)} before it began`,
    node: process.versions.node,
    commit: commitHere(),
    fdatasync: `${fdatasync(folder).toFixed(2)} ms`,
  }
  if (collected !== undefined) collected.head = head
  else for (const [what, value] of Object.entries(head)) console.log(`${what.padEnd(11)}${value}`)
  say('')
}

function commitHere(): string {
  const git = (...args: string[]) =>
    execFileSync('git', args, {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  try {
    return `${git('rev-parse', '--short=12', 'HEAD')}${git('status', '--porcelain') === '' ? '' : ', changed'}`
  } catch {
    return 'unknown'
  }
}

/** Milliseconds in which the disk makes 8 KiB durable: the median of 200. */
export function fdatasync(folder: string): number {
  const file = openSync(join(folder, 'sync'), 'w')
  const block = Buffer.alloc(8192)
  const times = Array.from({ length: 200 }, () => {
    const start = performance.now()
    writeSync(file, block)
    fdatasyncSync(file)
    return performance.now() - start
  })
  closeSync(file)
  return median(times)
}

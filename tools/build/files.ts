import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')

/** Files by their paths, which have forward slashes. */
export type Files = ReadonlyMap<string, Uint8Array>

export const bytesOf = (path: string): Buffer => readFileSync(join(ROOT, path))
export const textOf = (path: string): string => bytesOf(path).toString()
export const jsonOf = (path: string) => JSON.parse(textOf(path))
export const toFile = (text: string): Uint8Array => Buffer.from(text)

/** Sorts by code units, so that the order is the same on every machine. */
export const inOrder = <Value>(entries: Iterable<readonly [string, Value]>): [string, Value][] =>
  Array.from(entries, ([path, value]): [string, Value] => [path, value]).sort(([one], [other]) =>
    one < other ? -1 : 1,
  )

/** Returns the files of the checkout that match, under the paths that `rename` gives them. */
export const copied = (pattern: string, rename = (path: string) => path): [string, Uint8Array][] =>
  globSync(pattern, { cwd: ROOT }).map((path) => [rename(path.replaceAll('\\', '/')), bytesOf(path)])

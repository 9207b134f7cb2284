import { writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { randomBelow } from '../random.ts'
import { bytesOf, type Call, lastNumber, type Moment } from './trace.ts'

const SECTOR = 512

interface Version<Value> {
  readonly at: number
  readonly value: Value
}

/** What a disk may hold after a power cut: what was synced last, or anything that was written since. */
interface Doubtful<Value> {
  durable: Value
  since: Version<Value>[]
}

interface StoredFile {
  /** As the process sees it. */
  content: Buffer
  /** What was synced last, without the sectors in doubt. */
  durable: Buffer
  size: number
  readonly sizes: Doubtful<number>
  /** What was written to each sector since it was synced, by its number. */
  readonly unsynced: Map<number, Version<Buffer>[]>
}

export interface DiskModel {
  apply(moment: Moment): void
  /** Writes the files of one disk that a power cut at this moment may leave, and returns their names. */
  writeImage(folder: string): string[]
}

export interface DiskOptions {
  /** Whether a new file is found again as soon as it was synced itself, or only after its folder was. */
  readonly syncKeepsName: boolean
  /** A disk that says it synced this and did not. */
  readonly ignoresSyncOf?: RegExp
}

/** The files of one folder, from the calls that were recorded. It starts empty. */
export function createDiskModel(folder: string, { syncKeepsName, ignoresSyncOf }: DiskOptions): DiskModel {
  const names = new Map<string, Doubtful<StoredFile | null>>()
  const syncs = new Map<Call, number>()
  let now = 0

  const fileAt = (path: string): StoredFile | null => {
    const { durable, since } = names.get(path) ?? { durable: null, since: [] }
    const newest = since.at(-1)
    return newest === undefined ? durable : newest.value
  }

  const bind = (path: string, value: StoredFile | null): void => {
    const name = names.get(path) ?? { durable: null, since: [] }
    names.set(path, name)
    name.since.push({ at: now, value })
  }

  const syncFile = (path: string, before: number): void => {
    const file = fileAt(path)
    if (file === null || ignoresSyncOf?.test(path)) return
    settle(file.sizes, before)
    for (const [number, since] of file.unsynced) {
      const known = since.findLast(({ at }) => at < before)
      known?.value.copy(file.durable, number * SECTOR)
      const later = since.filter(({ at }) => at > before)
      if (later.length > 0) file.unsynced.set(number, later)
      else file.unsynced.delete(number)
    }
    const name = names.get(path)
    if (syncKeepsName && name) settle(name, before)
  }

  const begin = (call: Call): void => {
    const { name, path, args } = call
    now++
    switch (name) {
      case 'openat':
        if (args.includes('O_CREAT') && path !== folder && fileAt(path) === null) bind(path, newFile())
        return
      case 'pwrite64':
        write(existing(path), bytesOf(call), lastNumber(call), now)
        return
      case 'ftruncate':
        resize(existing(path), lastNumber(call), now)
        return
      case 'unlink':
        bind(path, null)
        return
      case 'fsync':
      case 'fdatasync':
        syncs.set(call, now)
        return
      case 'mkdir':
        return
      default:
        throw new Error(`the model does not know what ${name} does to ${path}`)
    }
  }

  const existing = (path: string): StoredFile => {
    const file = fileAt(path)
    if (file === null) throw new Error(`${path} was never made`)
    return file
  }

  return {
    apply({ of, call }) {
      if (call.path === '' || call.path.endsWith('-shm')) return
      if (of === 'begin') return begin(call)
      const before = syncs.get(call)
      if (before === undefined || call.result !== 0) return
      syncs.delete(call)
      if (call.path !== folder) syncFile(call.path, before)
      else for (const name of names.values()) settle(name, before)
    },
    writeImage(into) {
      const written: string[] = []
      for (const [path, name] of names) {
        const file = anyOf(name)
        if (file === null) continue
        const image = Buffer.alloc(anyOf(file.sizes))
        file.durable.copy(image)
        for (const [number, since] of file.unsynced) oneOf(since)?.copy(image, number * SECTOR)
        writeFileSync(join(into, basename(path)), image)
        written.push(basename(path))
      }
      return written
    },
  }
}

const newFile = (): StoredFile => ({
  content: Buffer.alloc(0),
  durable: Buffer.alloc(0),
  size: 0,
  sizes: { durable: 0, since: [] },
  unsynced: new Map(),
})

function write(file: StoredFile, bytes: Buffer, offset: number, at: number): void {
  resize(file, Math.max(file.size, offset + bytes.length), at)
  bytes.copy(file.content, offset)
  noteSectors(file, offset, offset + bytes.length, at)
}

function resize(file: StoredFile, size: number, at: number): void {
  if (size > file.content.length) {
    const length = Math.ceil((size * 2) / SECTOR) * SECTOR
    file.content = Buffer.concat([file.content], length)
    file.durable = Buffer.concat([file.durable], length)
  }
  const { size: before } = file
  file.size = size
  if (size !== before) file.sizes.since.push({ at, value: size })
  if (size < before) {
    file.content.fill(0, size, before)
    noteSectors(file, size, before, at)
  }
}

function noteSectors({ content, unsynced }: StoredFile, from: number, to: number, at: number): void {
  for (let number = Math.floor(from / SECTOR); number * SECTOR < to; number++) {
    // A copy, because the content goes on changing.
    const value = Buffer.from(content.subarray(number * SECTOR, (number + 1) * SECTOR))
    const since = unsynced.get(number)
    if (since) since.push({ at, value })
    else unsynced.set(number, [{ at, value }])
  }
}

/** What was written before a sync began is durable once the sync has ended. */
function settle<Value>(doubtful: Doubtful<Value>, before: number): void {
  const known = doubtful.since.findLast(({ at }) => at < before)
  if (known === undefined) return
  doubtful.durable = known.value
  doubtful.since = doubtful.since.filter(({ at }) => at > before)
}

const anyOf = <Value>({ durable, since }: Doubtful<Value>): Value => {
  const chosen = oneOf(since)
  return chosen === undefined ? durable : chosen
}

/** What one of the writes since the last sync left, or undefined for what the sync left. */
const oneOf = <Value>(since: readonly Version<Value>[]): Value | undefined =>
  since.length === 0 ? undefined : since[randomBelow(since.length + 1) - 1]?.value

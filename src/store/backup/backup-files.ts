import { createHash } from 'node:crypto'
import {
  closeSync,
  constants,
  createReadStream,
  fsyncSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statfsSync,
  statSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { AppError, type ErrorDefinition } from '#src/lib/app-error.ts'
import { writeAnew } from '#src/lib/folder-of-another.ts'
import { type BackupRecord, type BegunBackup, killedBackups } from '../sqlite/backup-record.ts'
import { opening } from '../sqlite/database.ts'
import { databaseFiles, stagingPath, syncFolder } from '../sqlite/store-file.ts'

export const backupErrors = {
  failed: { code: 'BACKUP_FAILED', kind: 'unavailable', message: 'The backup was not made.' },
  invalid: { code: 'BACKUP_INVALID', kind: 'unavailable', message: 'The backup cannot be restored.' },
  /** Only a command asks, and can be told to go on. */
  unproved: { code: 'BACKUP_UNPROVED', kind: 'invalid', message: 'Nothing proves where the backup comes from.' },
  noRoom: { code: 'NO_ROOM', kind: 'unavailable', message: 'There is too little room on the disk.' },
} as const satisfies Record<string, ErrorDefinition>

// None of the files opened here may be a live store: closing one would drop the locks of this process on it.

const MIB = 1024 * 1024

/** Returns undefined if nothing is there. Throws an AppError if this user may not look: under systemd it is the service's. */
export const statOf = (path: string): Stats | undefined =>
  opening(path, () => statSync(path, { throwIfNoEntry: false }))

export const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined

/** Removes a database with its logs, these first. */
export function removeDatabase(path: string): void {
  for (const file of databaseFiles(path).reverse()) rmSync(file, { force: true })
}

/** A name in its real folder. A link at the end is not followed, as removing a file does not follow it. */
export const placeOf = (path: string): string => join(realpathSync.native(dirname(path)), basename(path))

/** All files that belong to the store at `real`, or may lie there for a while. */
export const storeFiles = (real: string): string[] =>
  [real, `${real}-server`, `${real}-backup`, stagingPath(real)].flatMap(databaseFiles)

/** Creates an empty file that only its owner may read. */
export const createPrivate = (path: string): void => closeSync(openSync(path, 'wx', 0o600))

/** Makes a complete file durable under its final name. */
export function publish(path: string, finalPath: string): void {
  syncFile(path)
  renameSync(path, finalPath)
  syncFolder(dirname(finalPath))
}

export function syncFile(path: string): void {
  const descriptor = openSync(path, 'r+')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Returns the SHA-256 in hexadecimal. `onRead` hears how many bytes were read. */
export async function fileDigest(path: string, onRead: (bytes: number) => void): Promise<string> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(path, { highWaterMark: MIB })) {
    hash.update(chunk)
    bytes += chunk.length
    onRead(bytes)
  }
  return hash.digest('hex')
}

export const digestPath = (path: string): string => `${path}.sha256`

/** An HMAC of the backup's SHA-256, under a key that is made from TESLIM_SECRET. */
export const hmacPath = (path: string): string => `${path}.hmac`

const filesBeside = (path: string): string[] => [digestPath(path), hmacPath(path)]

export const partialPath = (path: string): string => `${path}.partial`

/** All files that making a backup creates or removes. */
export const backupFiles = (path: string): string[] => [
  path,
  ...databaseFiles(partialPath(path)),
  ...filesBeside(path).flatMap((beside) => [beside, partialPath(beside)]),
]

/** Writes the digest in the form that `sha256sum -c` reads, and the HMAC if there is one. */
export function writeBeside(path: string, digest: string, hmac: string | undefined): void {
  // One of an earlier backup under this name would not fit.
  rmSync(hmacPath(path), { force: true })
  writeLine(digestPath(path), `${digest}  ${basename(path)}\n`)
  if (hmac === undefined) return
  try {
    writeLine(hmacPath(path), `${hmac}  ${basename(path)}\n`)
  } catch (error) {
    rmSync(digestPath(path))
    throw error
  }
}

function writeLine(path: string, line: string): void {
  const partial = partialPath(path)
  writeAnew(partial, line)
  publish(partial, path)
}

export function removeBeside(path: string): void {
  for (const beside of filesBeside(path)) rmSync(beside, { force: true })
}

export function removePartialBeside(path: string): void {
  for (const beside of filesBeside(path)) rmSync(partialPath(beside), { force: true })
}

/** Returns what the file beside a backup says; undefined if there is no such file. */
export async function expectedBeside(beside: string, what: string): Promise<string | undefined> {
  if (!isThere(beside)) return undefined
  const [, expected] = /^([0-9a-f]{64}) [ *]/i.exec(await beginningOf(beside)) ?? []
  if (expected !== undefined) return expected.toLowerCase()
  throw new AppError(backupErrors.invalid, { message: `${beside} does not begin with ${what}.` })
}

const DIGEST_CHARACTERS = 66

/** The text of anything but a file is empty: a FIFO would wait for whoever writes to it. */
async function beginningOf(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!(await file.stat()).isFile()) return ''
    const { buffer, bytesRead } = await file.read(Buffer.alloc(DIGEST_CHARACTERS))
    return buffer.toString('latin1', 0, bytesRead)
  } finally {
    await file.close()
  }
}

/** Throws unless a folder's disk has room for `bytes`. */
export function requireRoom(folder: string, bytes: number, what: string): void {
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  if (free >= bytes) return
  throw new AppError(backupErrors.noRoom, {
    message: `${what} needs ${megabytes(bytes)} free in ${folder}, which has ${megabytes(free)}: make room first.`,
  })
}

export const megabytes = (bytes: number): string => `${Math.ceil(bytes / MIB).toLocaleString('en')} MiB`

export const nothingCopied = (why: string): AppError =>
  new AppError(backupErrors.failed, { message: `Nothing was copied: ${why}.` })

/**
 * Tells a file from any other that has or had its name, on whatever machine: inodes are used again, so the time counts, too. It
 * stays when the file is renamed, and when the machine starts again.
 */
export function fileIdentity(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found && `${found.ino}-${found.birthtimeNs}`
}

/** Stands for the file of a backup that is about to create it. */
export const NOT_CREATED = ''

/** Removes what backups left that were killed, and nothing that another process has put in its place. */
export function clearKilled(record: BackupRecord): void {
  for (const begun of record.begun()) {
    try {
      // Its disk is perhaps not mounted.
      if (!statSync(dirname(begun.path)).isDirectory()) continue
      if (isLeft(begun)) removeLeft(begun.path)
      record.settle(begun, fileIdentity(begun.path) === begun.file)
    } catch {
      // It is tried again with the next backup, and keeps none from being made.
    }
  }
}

/** A process may have been killed before it could remember which file it had created. Then that has no content yet. */
function isLeft({ path, file }: BegunBackup): boolean {
  const partial = partialPath(path)
  if (file === NOT_CREATED) return statSync(partial, { throwIfNoEntry: false })?.size === 0
  return fileIdentity(partial) === file
}

function removeLeft(path: string): void {
  if (!isThere(path)) removeBeside(path)
  removePartialBeside(path)
  // Last, since it tells that the others belong to it.
  removeDatabase(partialPath(path))
}

/** Returns the incomplete files that backups of a store left when they were killed. */
export const leftPartials = (store: string): string[] =>
  opening(store, () =>
    killedBackups(store)
      .filter(isLeft)
      .map(({ path }) => partialPath(path)),
  )

import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { type BackupRecord, type BegunBackup, killedBackups } from '../sqlite/backup-record.ts'
import { opening } from '../sqlite/database.ts'
import { isThere, partialPath, removeBeside, removeDatabase, removePartialBeside } from './backup-files.ts'

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

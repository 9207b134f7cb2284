import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const made: string[] = []

/** A folder that is removed at the end of the test file (each-file.ts). */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'teslim-test-'))
  made.push(folder)
  return folder
}

export function removeTempFolders(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true })
}

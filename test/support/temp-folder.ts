import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

/** A folder of its own for one test file, gone afterwards. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'teslim-test-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What a run of the whole suite writes about the file that its tests started. */
export interface Tested {
  readonly artefact: string
  readonly sha256: string
  /** The commit of the tests; it ends with `-dirty` if files had been changed. */
  readonly commit: string | null
  readonly platform: string
  readonly at: string
  readonly passed: number
  /** The names of tests that the machine could not run. */
  readonly skipped: readonly string[]
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Git ignores this folder, and builds leave it alone. A file of it may be copied from the machine that ran the tests. */
const recordOf = (root: string, artefact: string): string => join(root, 'coverage/tested', `${artefact}.json`)

export function writeTested(root: string, tested: Tested): void {
  mkdirSync(join(root, 'coverage/tested'), { recursive: true })
  writeFileSync(recordOf(root, tested.artefact), `${JSON.stringify(tested, null, 2)}\n`)
}

export const forgetTested = (root: string, artefact: string): void => rmSync(recordOf(root, artefact), { force: true })

export function readTested(root: string, artefact: string): Tested | undefined {
  const path = recordOf(root, artefact)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined
}

import { isSea } from 'node:sea'
import { programFile, readProgramFile } from './program-files.ts'

type Form = 'checkout' | 'package' | 'executable' | 'container'

interface Manifest {
  readonly version: string
  /** Written by `npm run build`. */
  readonly built?: { readonly commit: string | null; readonly form: Form }
}

const { version, built }: Manifest = JSON.parse(readProgramFile(programFile('../package.json')))

/** The version of teslim, as every place shows it. */
export const VERSION = version

/** What this program was built from; null in a checkout, whose files may have changed, and if it was built without git. */
export const COMMIT = built?.commit ?? null

/** How this program was installed. */
export const FORM: Form = isSea() ? 'executable' : (built?.form ?? 'checkout')

const { argv0 } = process

/** What a person types to run this program. */
export const COMMAND = {
  checkout: 'npx teslim',
  package: 'teslim',
  container: 'teslim',
  executable: /^[\w./-]+$/.test(argv0) ? argv0 : `'${argv0}'`,
}[FORM]

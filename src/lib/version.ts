import { isSea } from 'node:sea'
import { programFile, readProgramFile } from './program-files.ts'

type Form = 'checkout' | 'package' | 'executable' | 'container'

interface Manifest {
  readonly version: string
  /** Written by `npm run build`. */
  readonly built?: { readonly commit: string; readonly form: Form }
}

const { version, built }: Manifest = JSON.parse(readProgramFile(programFile('../package.json')))

/** The version of teslim, as every place shows it. */
export const VERSION = version

/** What this program was built from; null in a checkout, whose files may have changed. */
export const COMMIT = built?.commit ?? null

/** How this program was installed. */
export const FORM: Form = isSea() ? 'executable' : (built?.form ?? 'checkout')

import { fileURLToPath } from 'node:url'

/** An ES module of a package that the page imports by its name. */
interface Library {
  readonly specifier: string
  readonly name: string
  readonly file: string
}

const library = (specifier: string, name: string): Library => ({
  specifier,
  name,
  file: fileURLToPath(import.meta.resolve(specifier)),
})

export const LIBRARIES: readonly Library[] = [
  library('preact', 'preact'),
  library('preact/hooks', 'hooks'),
  library('htm', 'htm'),
  library('@preact/signals-core', 'signals-core'),
  library('@preact/signals', 'signals'),
]

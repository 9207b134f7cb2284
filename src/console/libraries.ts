import { isBuilt, programFile } from '#src/lib/program-files.ts'

/** An ES module of a package that the page imports by its name. */
interface Library {
  readonly specifier: string
  readonly name: string
  readonly file: URL
}

const library = (specifier: string, name: string): Library => ({
  specifier,
  name,
  file: isBuilt ? programFile(`console/libraries/${name}.js`) : new URL(import.meta.resolve(specifier)),
})

export const LIBRARIES: readonly Library[] = [
  library('preact', 'preact'),
  library('preact/hooks', 'hooks'),
  library('htm', 'htm'),
  library('@preact/signals-core', 'signals-core'),
  library('@preact/signals', 'signals'),
]

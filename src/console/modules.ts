import { posix } from 'node:path'

const IMPORT = /^(?:import\b[^'\n]*|\} from )'(\.[^']+)'/gm

/** Returns scripts and all that they import, each once, in the order in which they are found; not what they load later. */
export async function importedBy(
  scripts: readonly string[],
  read: (script: string) => Promise<string>,
): Promise<readonly string[]> {
  const found = new Set(scripts)
  // A set also goes through what is added meanwhile.
  for (const script of found) {
    for (const [, path = ''] of (await read(script)).matchAll(IMPORT)) {
      found.add(posix.join(posix.dirname(script), path))
    }
  }
  return [...found]
}

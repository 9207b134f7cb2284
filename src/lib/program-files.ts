import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { getAsset, getAssetKeys, isSea } from 'node:sea'
import { Worker, type WorkerOptions } from 'node:worker_threads'

/** The folder of the program's modules: `src` in a checkout, `program` in what `npm run build` makes. */
const MODULES = new URL('../', import.meta.url)
const ENDING = extname(import.meta.url)

export const isBuilt = ENDING === '.js'

/** An executable has its files as assets, named by their paths below the folder of `package.json`. */
const ROOT = new URL('../', MODULES)
const assetOf = ({ href }: URL): string => href.slice(ROOT.href.length)

/** Returns where a file or folder of the program is, by its path below `src`. Read it with the functions of this module. */
export const programFile = (path: string): URL => new URL(path, MODULES)

export const readProgramFile = (file: URL): string =>
  isSea() ? getAsset(assetOf(file), 'utf8') : readFileSync(file, 'utf8')

/** Lists what is below a folder, as paths relative to it, in order. */
export const listProgramFiles = (folder: URL): string[] =>
  (isSea() ? assetsBelow(folder) : readdirSync(folder, { recursive: true, encoding: 'utf8' })).sort(byCodeUnits)

function assetsBelow(folder: URL): string[] {
  const start = assetOf(folder)
  return getAssetKeys().flatMap((key) => (key.startsWith(start) ? [key.slice(start.length)] : []))
}

const byCodeUnits = (one: string, other: string): number => (one < other ? -1 : 1)

/** Starts a thread that runs a module of the program, which is named by its path below `src`, without the ending. */
export function startThread(module: string, options: WorkerOptions): Worker {
  const file = programFile(`${module}${ENDING}`)
  if (!isBuilt) return new Worker(file, options)
  const built = { ...options, argv: [file.href] }
  return isSea()
    ? new Worker(getAsset('boot.cjs', 'utf8'), { ...built, eval: true })
    : new Worker(programFile('thread.js'), built)
}

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { AppError, refusal } from '#src/lib/app-error.ts'
import { isBuilt, programFile, readProgramFile } from '#src/lib/program-files.ts'

/** Scripts and styles of the pages, below `src`. Each is bundled with all that it imports. */
export const BUNDLED = [
  'page/start.ts',
  'console/page/app.tsx',
  'console/page/page.css',
  'docs/page/page.ts',
  'docs/page/page.css',
] as const

export const BUNDLE_OPTIONS = [
  '--bundle',
  '--minify',
  '--format=esm',
  '--platform=browser',
  '--target=es2024',
  '--jsx=automatic',
  '--jsx-import-source=preact',
  '--legal-comments=none',
  '--log-level=warning',
]

export type Bundled = (typeof BUNDLED)[number]

/** The name that a bundle has where it is served and shipped. */
export const bundleName = (source: Bundled): string => source.replace(/\.tsx?$/, '.js')

/** Where npm installs the program. */
export const ESBUILD =
  process.platform === 'win32'
    ? `node_modules/@esbuild/win32-${process.arch}/esbuild.exe`
    : `node_modules/@esbuild/${process.platform}-${process.arch}/bin/esbuild`

const NOT_BUILT = refusal('PAGE_NOT_BUILT', 'unavailable')
const MAX_BYTES = 16 * 1024 * 1024

/** Returns a bundle. A checkout makes it now; what `npm run build` makes has it as a file. */
export async function bundleOf(source: Bundled): Promise<string> {
  if (isBuilt) return readProgramFile(programFile(bundleName(source)))
  const [program, entry, cwd] = [`../${ESBUILD}`, source, '../'].map((path) => fileURLToPath(programFile(path)))
  try {
    const options = { cwd, maxBuffer: MAX_BYTES }
    return (await promisify(execFile)(program ?? '', [entry ?? '', ...BUNDLE_OPTIONS], options)).stdout
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new AppError(NOT_BUILT)
  }
}

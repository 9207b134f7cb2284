import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join, posix } from 'node:path'
import { BUNDLE_OPTIONS, BUNDLED, ESBUILD } from '#src/http/pages/bundle.ts'
import { type Files, ROOT, toFile } from './files.ts'

/** Installed beside the package, because it has a native part for each platform. */
export const OUTSIDE = '@node-rs/argon2'

/** Bundled packages that are CommonJS load modules of Node by `require`. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)"

const OPTIONS = [
  '--bundle',
  '--splitting',
  '--format=esm',
  '--platform=node',
  '--target=node26',
  // As modules: a CommonJS module that `import()` loads has no named exports in the bundle.
  '--main-fields=module,main',
  '--chunk-names=lib/[hash]',
  `--external:${OUTSIDE}`,
  '--external:pg-native',
  `--banner:js=${REQUIRE}`,
  // Identifiers stay: error messages and stack traces show them.
  '--minify-syntax',
  '--minify-whitespace',
  // Node prints the line of an error that nothing catches.
  '--line-limit=160',
  '--sourcemap',
  '--sources-content=false',
  '--legal-comments=none',
  '--log-level=warning',
]

export interface Bundle {
  readonly files: Files
  /** Modules for executables only. */
  readonly standIns: Files
  /** The files that went into the bundle, as paths in the checkout. */
  readonly sources: readonly string[]
}

/** Makes the modules of the program: one for each thread, and for what several of them share or what is loaded later. */
export function bundle(): Bundle {
  // At the same depth each time: names of modules depend on the paths in their source maps.
  const cache = join(ROOT, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'build-'))
  try {
    const run = (name: string, options: readonly string[]): string[] => {
      const metafile = join(folder, `${name}.json`)
      const to = [`--outdir=${join(folder, 'program')}`, `--metafile=${metafile}`]
      execFileSync(ESBUILD, [...options, ...to], { cwd: ROOT, stdio: 'inherit' })
      return Object.keys(JSON.parse(readFileSync(metafile, 'utf8')).inputs)
    }
    const pages = BUNDLED.map((source) => `src/${source}`)
    const sources = [
      ...run('modules', [...entries(), ...OPTIONS]),
      ...run('pages', [...pages, ...BUNDLE_OPTIONS, '--outbase=src']),
    ]
    const outputs = globSync('program/**/*.{js,css,map}', { cwd: folder }).map((path) =>
      outputOf(path.replaceAll('\\', '/'), readFileSync(join(folder, path))),
    )
    const isStandIn = ([path]: readonly [string, Uint8Array]): boolean => path.startsWith('program/argon2.js')
    return {
      files: new Map(outputs.filter((output) => !isStandIn(output))),
      standIns: new Map(outputs.filter(isStandIn)),
      sources,
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Entries as esbuild takes them: the path of a module in the program, and its source. */
function entries(): string[] {
  const threads = globSync('src/**/*worker.ts', { cwd: ROOT }).map((path) => path.replaceAll('\\', '/'))
  return [
    ...['main', 'thread'].map((name) => `${name}=tools/build/program/${name}.ts`),
    'argon2=tools/build/executable/argon2.ts',
    // Finds the folder of the program by its own, so it must not become a part of another module.
    'lib/program-files=src/lib/program-files.ts',
    ...threads.sort().map((path) => `${path.slice('src/'.length, -'.ts'.length)}=${path}`),
  ]
}

/** Source maps name the sources as if the bundle stood in the folder of the checkout. */
function outputOf(path: string, bytes: Buffer): [string, Uint8Array] {
  if (!path.endsWith('.map')) return [path, bytes]
  const map = JSON.parse(bytes.toString())
  const made = posix.join('node_modules/.cache/build', posix.dirname(path))
  const sources = map.sources.map((source: string) => posix.relative(posix.dirname(path), posix.join(made, source)))
  return [path, toFile(JSON.stringify({ ...map, sources }))]
}

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Bundle, OUTSIDE } from '../bundle.ts'
import { bytesOf, type Files, jsonOf, ROOT } from '../files.ts'
import { type Part, partOfNode } from '../parts.ts'

export const PLATFORMS = ['linux-x64', 'linux-arm64']
const BOOT = 'boot.cjs'
const HERE = `${process.platform}-${process.arch}`

/** Options that Node is started with: those of the container, and silence about the experimental function of boot.cjs. */
const NODE_OPTIONS = ['--disable-sigusr1', '--disable-warning=ExperimentalWarning']

export interface Executable {
  readonly platform: string
  readonly bytes: Buffer
  /** The Node that is inside. */
  readonly node: Part
}

type Check = (version: string) => void

/**
 * Makes an executable for each platform whose Node and native part of argon2 are there, and says what is missing for the others.
 * `check` gets the version of Node before any is made.
 */
export function makeExecutables(
  files: Files,
  made: Bundle,
  { downloads, check }: { readonly downloads?: string | undefined; readonly check?: Check | undefined } = {},
): Executable[] {
  // It only writes a file, so it makes those of other platforms, too. All have to be of one version.
  const maker = nodeOf(HERE, downloads)
  if (maker === undefined) throw new Error(`there is no Node for ${HERE} in ${downloads ?? 'node_modules'}`)
  const version = execFileSync(maker, ['--version'], { encoding: 'utf8' }).trim().slice(1)
  check?.(version)
  return PLATFORMS.flatMap((platform) => {
    const node = nodeOf(platform, downloads, version)
    const native = nativePartOf(platform, downloads)
    if (node === undefined || native === undefined) {
      const missing = [
        ...(node === undefined ? [`Node for ${platform}`] : []),
        ...(native === undefined ? [`${OUTSIDE}-${platform}-gnu`] : []),
      ]
      console.log(`teslim-${platform} is not made: there is no ${missing.join(', and no ')}`)
      return []
    }
    const assets = new Map([
      ...files,
      ...made.standIns,
      ['argon2.node', native],
      [BOOT, bytesOf(`tools/build/executable/${BOOT}`)],
    ])
    return [{ platform, bytes: inject(assets, node, maker), node: partOfNode(version, platform, node) }]
  })
}

/** Returns Node's program for a platform, out of unpacked downloads or as npm installed it. */
function nodeOf(platform: string, downloads: string | undefined, version = '*'): string | undefined {
  const installed = join(ROOT, `node_modules/node-${platform}/bin/node`)
  if (downloads === undefined) return existsSync(installed) ? installed : undefined
  const [found, other] = globSync(`node-v${version}-${platform}/bin/node`, { cwd: downloads })
  if (other !== undefined) throw new Error(`${downloads} has several versions of Node for ${platform}: leave one`)
  return found && join(downloads, found)
}

/** Returns the native part of argon2 for a platform: as npm installed it, or out of a package as `npm pack` downloads it. */
export function nativePartOf(platform: string, downloads: string | undefined): Buffer | undefined {
  const [name, file] = [`${OUTSIDE}-${platform}-gnu`, `argon2.${platform}-gnu.node`]
  const installed = join(ROOT, 'node_modules', name, file)
  if (existsSync(installed)) return readFileSync(installed)
  const { version, integrity } = jsonOf('package-lock.json').packages[`node_modules/${name}`]
  const tgz = join(downloads ?? ROOT, `${name.slice(1).replace('/', '-')}-${version}.tgz`)
  if (downloads === undefined || !existsSync(tgz)) return undefined
  if (`sha512-${createHash('sha512').update(readFileSync(tgz)).digest('base64')}` !== integrity) {
    throw new Error(`${tgz} is not the package that package-lock.json names`)
  }
  return execFileSync('tar', ['-xzOf', tgz, `package/${file}`], { maxBuffer: 1e8 })
}

/** Puts files into a copy of Node. */
function inject(files: Files, node: string, maker: string): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'teslim-build-'))
  try {
    const assets: Record<string, string> = {}
    for (const [path, bytes] of files) {
      // Relative to the folder, because the executable remembers where its main script was.
      assets[path] = `assets/${path}`
      mkdirSync(dirname(join(folder, 'assets', path)), { recursive: true })
      writeFileSync(join(folder, 'assets', path), bytes)
    }
    const options = { main: assets[BOOT], executable: node, output: 'teslim', assets, execArgv: NODE_OPTIONS }
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ ...options, disableExperimentalSEAWarning: true }))
    execFileSync(maker, ['--build-sea', 'config.json'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
    return readFileSync(join(folder, 'teslim'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

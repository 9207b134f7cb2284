import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { assignments, copy, parseDockerfile, substitute, words } from '../docs/dockerfile.ts'

const isRoot = process.getuid?.() === 0
const NOBODY = 65534

export interface Container {
  /** The folder that holds `/app`, `/data` and the rest of the image's file system. */
  readonly root: string
  readonly labels: Record<string, string>
  /** ENTRYPOINT and CMD. */
  readonly command: readonly string[]
  readonly healthCommand: readonly string[]
  readonly env: Record<string, string>
  readonly user: { uid?: number; gid?: number }
  /** What could not be done without an engine, and why. */
  readonly skipped: readonly string[]
  remove(): void
}

/** npm could not reach its registry, so nothing is known about the Dockerfile. */
export class NoRegistry extends Error {}

/** Runs the steps of the Dockerfile in a plain folder that stands for the root of the image's file system. */
export function buildContainer(repository: string, args: Record<string, string>): Container {
  // Every stage is built here, so that paths are the same in all of them.
  const root = join(mkdtempSync(join(tmpdir(), 'teslim-container-')), 'root')
  const stages = new Map<string, string>()
  const skipped: string[] = []
  const skip = (what: string, why: string) => void skipped.push(`${what}: ${why}`)
  let stage = ''
  let env: Record<string, string> = {}
  let declared: Record<string, string> = {}
  let user = {}
  let folder = root
  let labels = {}
  let entrypoint: string[] = []
  let command: string[] = []
  let healthCommand: string[] = []

  /** Turns paths of the image into paths in the folder, and its user into nobody. */
  const here = (text: string): string =>
    text
      .replace(/(?<![\w./-])\/(?=(?:app|build|data|usr\/local)\b)/g, `${root}/`)
      .replaceAll('1000:1000', `${NOBODY}:${NOBODY}`)

  function from(text: string): void {
    skip(`FROM ${text}`, `the Node of this run, ${process.version}, stands in for it`)
    if (stage !== '') {
      stages.set(stage, `${root}-${stage}`)
      renameSync(root, `${root}-${stage}`)
    }
    stage = / AS (\w+)$/.exec(text)?.[1] ?? ''
    env = {}
    declared = {}
    user = {}
    for (const name of ['usr/local/bin', 'home', 'tmp']) mkdirSync(join(root, name), { recursive: true })
    chmodSync(dirname(root), 0o755)
    for (const name of ['home', 'tmp']) if (isRoot) chownSync(join(root, name), NOBODY, NOBODY)
    // A copy that every user can reach: node_modules may be in a folder that only root can enter.
    copyFileSync(process.execPath, join(root, 'usr/local/bin/node'))
  }

  function run(line: string): void {
    for (const part of line.split(' && ')) {
      if (!isRoot && part.startsWith('chown ')) skip(part, 'only root can')
      else {
        const path = `${join(root, 'usr/local/bin')}${delimiter}${process.env.PATH}`
        const npm = { npm_config_prefer_offline: 'true', npm_config_fetch_retries: '1' }
        const inside = { ...process.env, ...env, ...declared, ...npm, PATH: path }
        // What the tests of this run compile is not for the container.
        const options = { cwd: folder, env: { ...inside, NODE_COMPILE_CACHE: undefined }, encoding: 'utf8', ...user }
        const { status, stderr } = spawnSync('sh', ['-c', here(part)], options as { encoding: 'utf8' })
        if (/ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|network/i.test(stderr)) throw new NoRegistry(stderr)
        if (status !== 0) throw new Error(`RUN ${part} ended with ${status}:\n${stderr}`)
      }
    }
  }

  function copyFiles(text: string): void {
    const [, name = '', source = '', target = ''] = /^--from=(\w+) (\S+) (\S+)$/.exec(text) ?? []
    if (name === '') copy(text, { repository, to: folder })
    else cpSync(join(stages.get(name) ?? '', source), join(folder, target), { recursive: true })
  }

  const remove = (): void => {
    spawnSync('chmod', ['-R', 'u+w', root])
    rmSync(dirname(root), { recursive: true, force: true })
  }

  try {
    for (const { instruction, text } of parseDockerfile(readFileSync(join(repository, 'Dockerfile'), 'utf8'))) {
      if (instruction === 'FROM') from(text)
      else if (instruction === 'ENV') Object.assign(env, mapValues(assignments(text), here))
      else if (instruction === 'ARG') {
        const [[name, value]] = Object.entries(assignments(text)) as [[string, string]]
        declared[name] = args[name] ?? value
      } else if (instruction === 'WORKDIR') {
        folder = here(text)
        mkdirSync(folder, { recursive: true })
      } else if (instruction === 'COPY') copyFiles(text)
      else if (instruction === 'RUN') run(text)
      else if (instruction === 'USER') {
        if (!/^[1-9]\d*:[1-9]\d*$/.test(text))
          throw new Error(`USER ${text} must be the numbers of a user and a group other than root`)
        if (isRoot) user = { uid: NOBODY, gid: NOBODY }
        else skip(`USER ${text}`, 'only root can change the user, and this run is not root')
      } else if (instruction === 'VOLUME') mkdirSync(here(text), { recursive: true })
      else if (instruction === 'HEALTHCHECK') healthCommand = words(text)
      else if (instruction === 'ENTRYPOINT') entrypoint = words(text)
      else if (instruction === 'CMD') command = words(text)
      else if (instruction === 'LABEL') labels = assignments(substitute(text, declared))
      else if (instruction !== 'EXPOSE') throw new Error(`${instruction} is not supported`)
    }
    // Else it belongs to root, as in the image.
    if (!isRoot) spawnSync('chmod', ['-R', 'a-w', join(root, 'app')])
  } catch (error) {
    remove()
    throw error
  }
  const inside = {
    ...env,
    PATH: `${join(root, 'usr/local/bin')}${delimiter}/usr/bin${delimiter}/bin`,
    HOME: join(root, 'home'),
    TMPDIR: join(root, 'tmp'),
  }
  const serve = [...entrypoint, ...command].map(here)
  return { root, labels, command: serve, healthCommand: healthCommand.map(here), env: inside, user, skipped, remove }
}

const mapValues = (record: Record<string, string>, change: (value: string) => string): Record<string, string> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]))

/** Starts a command of the container, in its folder, as its user and without the environment of this run. */
export function start({ root, env, user }: Container, command: readonly string[], more = {}): ChildProcess {
  const [program = '', ...rest] = command
  return spawn(program, rest, { cwd: join(root, 'app'), env: { ...env, ...more }, ...user })
}

/** Starts a command as process 1 of its own, as an engine does; undefined where that is not allowed. */
export function startAsFirst(container: Container, command: readonly string[], more = {}): ChildProcess | undefined {
  const alone = ['--fork', '--pid', '--kill-child', `--setgid=${NOBODY}`, `--setuid=${NOBODY}`]
  if (!isRoot || spawnSync('unshare', [...alone, 'true']).status !== 0) return undefined
  return start({ ...container, user: {} }, ['unshare', ...alone, ...command], more)
}

/** Returns size and modification time of every file below a folder. */
export const filesOf = (folder: string): Map<string, { readonly size: number; readonly changed: number }> =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map(({ parentPath, name }) => {
        const { size, mtimeMs } = lstatSync(join(parentPath, name))
        return [join(parentPath, name), { size, changed: mtimeMs }]
      }),
  )

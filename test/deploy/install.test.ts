import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { tempFolder } from '../support/temp-folder.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const dist = join(tempFolder(), 'dist')
execFileSync(process.execPath, ['tools/build/main.ts', '--out', dist], { cwd: ROOT })
const [, page = ''] = /^## Install\n([\s\S]*?)^## /m.exec(readFileSync(join(ROOT, 'README.md'), 'utf8')) ?? []
/** The commands that the page has for `dist`, by what they install. */
const commands = Object.fromEntries(
  Array.from(page.matchAll(/^\| the (\w+) \|.*`(.+)` \|$/gm), ([, what = '', command = '']) => [what, command]),
)
console.info(`not run, as there is no engine: ${commands.container}; test/deploy/container.test.ts runs the Dockerfile`)

/** Runs a command that ends in `serve` until it listens, and returns what it printed. */
async function runInDist(command: string): Promise<string> {
  const prefix = tempFolder()
  const PATH = [join(prefix, 'bin'), dirname(process.execPath), process.env.PATH].join(delimiter)
  const npm = { npm_config_prefix: prefix, npm_config_prefer_offline: 'true', npm_config_fetch_retries: '1' }
  const env = { ...process.env, ...npm, PATH, PORT: '0', TESLIM_OPS_PORT: '0', TESLIM_UNDER_TEST: undefined }
  const child = spawn('sh', ['-c', command], { cwd: dist, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const ended = once(child, 'close')
  const end = () => child.exitCode ?? process.kill(-Number(child.pid), 'SIGTERM')
  onTestFinished(() => void end())
  const errors = text(child.stderr)
  let printed = ''
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    printed += chunk
    if (printed.includes('listening on')) break
  }
  end()
  await ended
  return printed + (await errors)
}

it('the package is installed and served as the README says', async ({ skip }) => {
  expect(commands.package).toMatch(/^npm install --global \S+ && teslim serve$/)
  const printed = await runInDist(commands.package ?? '')
  if (/ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|network/i.test(printed)) {
    console.info(`the package is not installed: npm cannot reach its registry: ${printed}`)
    skip('npm cannot reach its registry')
  }
  expect(printed).toContain('listening on')
})

it('the executable serves as the README says', async ({ skip }) => {
  const [, name = ''] = /^\.\/(\S+) serve$/.exec(commands.executable ?? '') ?? []
  const here = `teslim-${process.platform}-${process.arch}`
  if (!existsSync(join(dist, here))) {
    console.info(`the executable is not tried: the build makes no ${here}`)
    skip(`the build makes no ${here}`)
  }
  expect(name).toBe('teslim-linux-x64')
  expect(await runInDist(`./${here} serve`)).toContain('listening on')
})

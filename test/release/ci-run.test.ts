import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempFolder } from '../support/temp-folder.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const packages = Array.from(read('.ci/packages').matchAll(/^([a-z]\S+) +\S/gm), ([, name = '']) => name)

describe('.ci/run', () => {
  /**
   * Runs it in an empty folder, on a machine that has these programs, with an apt-get that installs all but `broken`. Its npm
   * passes or fails. Returns what it prints, and the calls of both.
   */
  function run({ has = [] as string[], broken = [] as string[], npm = 0 } = {}) {
    const root = tempFolder()
    const programs = join(root, 'programs')
    mkdirSync(programs)
    mkdirSync(join(root, '.ci'))
    mkdirSync(join(root, 'coverage'))
    // The machine's own is left alone.
    writeFileSync(join(root, '.ci/run'), read('.ci/run').replace('/usr/sbin/policy-rc.d', join(root, 'policy-rc.d')))
    cpSync(join(ROOT, '.ci/packages'), join(root, '.ci/packages'))
    for (const name of ['bash', 'dirname', 'mktemp', 'rm', 'chmod', 'cat', 'grep']) link(programs, name)
    const program = (name: string, script: string) => {
      writeFileSync(join(programs, name), `#!/bin/bash\n${script}\n`)
      chmodSync(join(programs, name), 0o755)
    }
    program(
      'apt-get',
      `echo "apt-get $*" >> ${root}/calls\ncase " $* " in ${broken.map((each) => `*" ${each} "*) exit 100;;`).join('')} esac`,
    )
    const results = JSON.stringify({ numPassedTests: 3, numFailedTests: npm, testResults: [] })
    writeFileSync(join(root, 'coverage/test-results.json'), results)
    program(
      'npm',
      `echo "npm $* CI=$CI" >> ${root}/calls\nif [ "$1 $2" = 'run check' ]; then exit ${npm}; fi\nif [ "$1" = exec ]; then shift 2; exec ${process.execPath} "\${@:2}"; fi`,
    )
    for (const name of has) program(name, name === 'ldconfig' ? 'echo libatomic.so.1' : 'exit 0')
    const { status, stdout } = spawnSync('bash', ['.ci/run'], { cwd: root, env: { PATH: programs }, encoding: 'utf8' })
    const calls = readFileSync(join(root, 'calls'), 'utf8').trim().split('\n')
    return {
      status,
      lines: stdout.trim().split('\n'),
      apt: calls.filter((call) => /^apt-get install/.test(call)),
      calls,
    }
  }
  const link = (folder: string, name: string) =>
    symlinkSync(spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim(), join(folder, name))
  /** PostgreSQL is found by its files, wherever the tests run. */
  const installed = globSync('/usr/lib/postgresql/*/bin/pg_rewind').length > 0 ? ['postgresql'] : []
  const wanted = packages.filter((name) => !installed.includes(name))
  const install = 'apt-get install -y -qq --no-install-recommends'

  it('installs what is missing, the library of Node before npm, and ends with the number of tests', () => {
    const { status, lines, apt, calls } = run()
    expect([status, lines.at(-1)]).toEqual([0, '3 passed, 0 failed'])
    expect(apt).toContain(`${install} libatomic1`)
    expect(apt).toContain(`${install} ${wanted.join(' ')}`)
    const npm = calls.indexOf('npm ci --no-audit --no-fund CI=true')
    expect(calls.indexOf(`${install} libatomic1`)).toBeLessThan(npm)
    expect(npm).toBeLessThan(calls.indexOf('npm run check CI=true'))
  })

  it('installs nothing that is there', () => {
    const has = ['ldconfig', 'pgbouncer', 'strace', 'chromium-headless-shell', 'promtool', 'php', 'git']
    const there = ['libatomic1', 'pgbouncer', 'strace', 'chromium-headless-shell', 'php-cli', 'php-curl', 'git']
    const { status, apt } = run({ has })
    expect([status, apt]).toEqual([0, [`${install} ${wanted.filter((name) => !there.includes(name)).join(' ')}`]])
  })

  it('installs the others where one cannot be installed, says so, and goes on', () => {
    const { status, lines, apt } = run({ broken: ['patroni', 'chromium-headless-shell'] })
    expect(status).toBe(0)
    expect(lines).toEqual(
      expect.arrayContaining(['patroni cannot be installed', 'chromium-headless-shell cannot be installed']),
    )
    for (const name of wanted) expect(apt).toContain(`${install} ${name}`)
    expect(apt).toContain(`${install} chromium`)
  })

  it('fails if a check fails, and still says how many tests passed', () => {
    const { status, lines } = run({ npm: 1 })
    expect([status, lines.at(-1)]).toEqual([1, '3 passed, 1 failed'])
  })
})

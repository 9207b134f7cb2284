import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { commandNames } from '#src/cli/command-table.ts'
import { runCommand } from '../support/processes/command.ts'
import { tempFolder } from '../support/temp-folder.ts'

const folder = tempFolder()
const cwd = tempFolder()
for (const name of ['orders.ndjson', 'two words.pem']) writeFileSync(join(cwd, name), '')

/** The command itself, as the scripts find it. */
const bin = join(folder, 'bin')
mkdirSync(bin)
writeFileSync(
  join(bin, 'teslim'),
  `#!/bin/sh\nexec '${process.execPath}' '${join(import.meta.dirname, '../../bin/teslim.js')}' "$@"\n`,
)
chmodSync(join(bin, 'teslim'), 0o755)
const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` }

it.each<[string, string[]]>([
  ['', [...new Set(commandNames.map((name) => name.split(' ', 1).join()))]],
  ['customer d', ['disable', 'disallow']],
  ['help customer sh', ['show']],
  ['--utc customer sh', ['show']],
  ['completion ', ['bash', 'zsh', 'fish', '--json', '--utc', '--help']],
  ['delivery list --f', ['--from']],
  ['delivery list --limit 3 --st', ['--status']],
  ['delivery list --status ', ['0', '1', '2', '3']],
  ['delivery list --status = ', ['0', '1', '2', '3']],
  ['delivery list --status =', ['0', '1', '2', '3']],
  ['customer set --operator y', ['yes']],
  ['key issue --customer ', []],
  ['customer show email ', ['--json', '--utc', '--help']],
  ['no such thing --x', []],
  ['deliver ', ['FILES']],
  ['deliver --url http://a orders', ['FILES']],
  ['deliver --ur', ['--url']],
  ['backup ', ['FILES']],
  ['restore ', ['FILES']],
  ['webhook add --ca ', ['FILES']],
  ['webhook set 1 --ca ', ['FILES']],
  ['customer add orders', []],
  ['key issue --customer orders', []],
])('what completes "%s" are words that fit, or names of files where these are meant', async (line, words) => {
  const { stdout } = await runCommand(['complete', '--json', '--', ...line.split(' ')], { cwd: folder })
  expect(JSON.parse(stdout)).toEqual(words)
})

/** Runs a shell on a script of ours and returns what it prints, as words. */
const words = (shell: string, args: readonly string[]): string[] => {
  const { stdout, stderr, status } = spawnSync(shell, args, { encoding: 'utf8', cwd, env })
  expect([status, stderr]).toEqual([0, ''])
  return stdout.split(/\s+/).filter((word) => word !== '')
}

type Complete = (script: string, line: string) => string[]

const completeIn: Readonly<Record<string, Complete>> = {
  bash: (script, line) => {
    const typed = ['teslim', ...line.split(' ')].flatMap((word) => word.split(/(=)/).filter((part) => part !== ''))
    if (line.endsWith(' ') || line.endsWith('=')) typed.push('')
    const quoted = typed.map((word) => `'${word}'`).join(' ')
    const cursor = typed.length - 1
    const program = `source ${script}; COMP_WORDS=(${quoted}); COMP_CWORD=${cursor}; _teslim; echo "\${COMPREPLY[@]}"`
    return words('bash', ['--norc', '-c', program])
  },
  zsh: (script, line) => {
    const typed = ['teslim', ...line.split(' ')].map((word) => `'${word}'`)
    const program = `compdef() { :; }; compadd() { shift; print -l -- $@; }; _files() { print -l -- ${typed.at(-1)}*(N); }; source ${script}; words=(${typed.join(' ')}); CURRENT=${typed.length}; _teslim`
    return words('zsh', ['-f', '-c', program])
  },
  fish: (script, line) => words('fish', ['--no-config', '-c', `source ${script}; complete -C 'teslim ${line}'`]),
}

/** What an interactive bash makes of a line and the Tab key, for completions that readline adds itself. */
function lineAfterTab(script: string, line: string): string | undefined {
  const teslim = `teslim() { if [ "$1" = complete ]; then command teslim "$@"; else printf '<%s>' "$@"; fi; }`
  const input = `source ${script}\n${teslim}\nteslim ${line}\t\n`
  const plain = { ...env, HISTFILE: '/dev/null', INPUTRC: '/dev/null', TERM: 'dumb' }
  const { stdout } = spawnSync('bash', ['--norc', '-i'], { encoding: 'utf8', cwd, env: plain, input })
  return /<.*>/.exec(stdout)?.[0]
}

describe.each(Object.entries(completeIn))('the script for %s', (shell, completeLine) => {
  const missing = spawnSync(shell, ['-c', 'true']).error !== undefined
  const script = join(folder, shell)
  beforeAll(async () => {
    const { status, stdout, stderr } = await runCommand(['completion', shell], { cwd: folder })
    expect([status, stderr]).toEqual([0, ''])
    writeFileSync(script, stdout)
  })

  it('offers those words, and where they are meant names of files, also with a space', ({ skip }) => {
    skip(missing, `${shell} is not installed`)
    const complete = (line: string) => completeLine(script, line)
    expect(complete('customer d')).toEqual(['disable', 'disallow'])
    expect(complete('delivery list --status ')).toEqual(['0', '1', '2', '3'])
    expect(complete('key issue --customer orders')).toEqual([])
    if (shell !== 'bash') {
      expect(complete('deliver orders')).toEqual(['orders.ndjson'])
      return
    }
    expect(complete('delivery list --status=')).toEqual(['0', '1', '2', '3'])
    expect(lineAfterTab(script, 'deliver orders')).toBe('<deliver><orders.ndjson>')
    expect(lineAfterTab(script, 'webhook add --ca two')).toBe('<webhook><add><--ca><two words.pem>')
    expect(lineAfterTab(script, 'webhook add --ca=orders')).toBe('<webhook><add><--ca=orders.ndjson>')
    expect(lineAfterTab(script, 'customer add orders')).toBe('<customer><add><orders>')
  })
})

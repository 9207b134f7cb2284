import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { commandNames } from '#src/cli/command-table.ts'
import { runCommand } from '../support/command.ts'
import { tempFolder } from '../support/temp-folder.ts'

const folder = tempFolder()
const cwd = tempFolder()
for (const name of ['orders.ndjson', 'two words.pem']) writeFileSync(join(cwd, name), '')

/** Runs a shell on a script of ours and returns what it prints, as words. */
const words = (shell: string, args: readonly string[]): string[] => {
  const { stdout, stderr, status } = spawnSync(shell, args, { encoding: 'utf8', cwd })
  expect([status, stderr]).toEqual([0, ''])
  return stdout.split(/\s+/).filter((word) => word !== '')
}

type Complete = (script: string, line: string) => string[]

const completeIn: Readonly<Record<string, Complete>> = {
  bash: (script, line) => {
    const typed = ['teslim', ...line.split(' ')].flatMap((word) => word.split(/(=)/).filter((part) => part !== ''))
    if (line.endsWith(' ') || line.endsWith('=') || line === '') typed.push('')
    const quoted = typed.map((word) => `'${word}'`).join(' ')
    const cursor = typed.length - 1
    const program = `source ${script}; COMP_WORDS=(${quoted}); COMP_CWORD=${cursor}; _teslim; echo "\${COMPREPLY[@]}"`
    return words('bash', ['--norc', '-c', program])
  },
  zsh: (script, line) => {
    const typed = ['teslim', ...line.split(' ')].map((word) => `'${word}'`)
    const current = typed.at(-1)
    const program = `compdef() { :; }; compadd() { shift; for w; do [[ $w == ${current}* ]] && print -- $w; done; return 0; }; _files() { print -l -- ${current}*(N); }; source ${script}; words=(${typed.join(' ')}); CURRENT=${typed.length}; _teslim`
    return words('zsh', ['-f', '-c', program])
  },
  fish: (script, line) => words('fish', ['--no-config', '-c', `source ${script}; complete -C 'teslim ${line}'`]),
}

/** What an interactive bash makes of a line and the Tab key, for completions that readline adds itself. */
function lineAfterTab(script: string, line: string): string | undefined {
  const input = `source ${script}\nteslim() { printf '<%s>' "$@"; }\nteslim ${line}\t\n`
  const env = { ...process.env, HISTFILE: '/dev/null', INPUTRC: '/dev/null', TERM: 'dumb' }
  const { stdout } = spawnSync('bash', ['--norc', '-i'], { encoding: 'utf8', cwd, env, input })
  return /<.*>/.exec(stdout)?.[0]
}

describe.each(Object.entries(completeIn))('completion for %s', (shell, completeLine) => {
  const missing = spawnSync(shell, ['-c', 'true']).error !== undefined
  const script = join(folder, shell)
  beforeAll(async () => {
    const { status, stdout, stderr } = await runCommand(['completion', shell], { cwd: folder })
    expect([status, stderr]).toEqual([0, ''])
    writeFileSync(script, stdout)
  })

  it('offers commands, options and the values of options', ({ skip }) => {
    skip(missing, `${shell} is not installed`)
    const complete = (line: string) => completeLine(script, line).toSorted()
    expect(complete('')).toEqual([...new Set(commandNames.map((name) => name.split(' ')[0]))].toSorted())
    expect(complete('customer d')).toEqual(['disable', 'disallow'])
    expect(complete('help customer sh')).toEqual(['show'])
    expect(complete('completion ')).toEqual(expect.arrayContaining(['bash', 'fish', 'zsh']))
    expect(complete('delivery list --f')).toEqual(['--from'])
    expect(complete('delivery list --limit 3 --st')).toEqual(['--status'])
    expect(complete('delivery list --status ')).toEqual(['0', '1', '2', '3'])
    if (shell === 'bash') expect(complete('delivery list --status=')).toEqual(['0', '1', '2', '3'])
    expect(complete('key issue --customer ')).toEqual([])
    expect(complete('no such thing --x')).toEqual([])
  })
  it('offers names of files where an argument is a file, and nowhere else', ({ skip }) => {
    skip(missing, `${shell} is not installed`)
    const complete = (line: string) => completeLine(script, line)
    const places = [
      'deliver ',
      'deliver --url http://a ',
      'backup ',
      'restore ',
      'webhook add --ca ',
      'webhook set 1 --ca ',
    ]
    for (const place of places) {
      if (shell === 'bash') {
        const typed = place.trim().split(' ')
        expect(lineAfterTab(script, `${place}orders`)).toBe(
          [...typed, 'orders.ndjson'].map((word) => `<${word}>`).join(''),
        )
      } else expect(complete(`${place}orders`), place).toEqual(['orders.ndjson'])
    }
    if (shell === 'bash') {
      expect(lineAfterTab(script, 'webhook add --ca two')).toBe('<webhook><add><--ca><two words.pem>')
      expect(lineAfterTab(script, 'webhook add --ca=orders')).toBe('<webhook><add><--ca=orders.ndjson>')
      expect(lineAfterTab(script, 'customer add orders')).toBe('<customer><add><orders>')
      expect(lineAfterTab(script, 'key issue --customer orders')).toBe('<key><issue><--customer><orders>')
    }
    expect(complete('deliver --ur')).toEqual(['--url'])
    expect(complete('customer add orders')).toEqual([])
    expect(complete('key issue --customer orders')).toEqual([])
  })
})

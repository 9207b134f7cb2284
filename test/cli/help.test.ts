import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { commandNames, loadCommands, loadGroups } from '#src/cli/command-table.ts'
import { helpOn } from '#src/cli/help.ts'
import { isSafeNode } from '#src/doctor/checks.ts'
import { runCommand } from '../support/processes/command.ts'
import { teslim } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const cwd = tempFolder()
const groups = await loadGroups()
const run = (...args: string[]) => runCommand(args, { cwd })

it('teslim --version, -v, -V and version print the version of package.json', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const { form, node } = JSON.parse((await teslim(['--version', '--json'], { cwd })).stdout)
  const warning =
    form === 'executable' && !isSafeNode(node) ? ` (for trying: its Node ${node} lacks security fixes)` : ''
  expect(await teslim(['-v'], { cwd })).toEqual({ status: 0, stdout: `teslim ${version}${warning}\n`, stderr: '' })
  const installed = { version, node: process.versions.node, commit: null, form: 'checkout' }
  for (const word of ['--version', '-v', '-V', 'version'])
    for (const args of [
      [word, '--json'],
      ['--json', word],
    ])
      expect(JSON.parse((await run(...args)).stdout)).toEqual(installed)
})

it('every command has the name under which the table has it', async () => {
  expect((await loadCommands()).map(({ name }) => name)).toEqual(commandNames)
})

it('teslim help, --help and -h list every command under its group, with status 0', async () => {
  const all = await run('help')
  expect(all).toMatchObject({ status: 0, stderr: '' })
  for (const { title } of groups) expect(all.stdout).toContain(`\n\n${title}\n`)
  for (const name of commandNames) expect(all.stdout).toContain(`\n  ${name} `)
  for (const word of ['--help', '-h']) expect(await run(word)).toEqual(all)
})

it('teslim GROUP, GROUP --help and help GROUP list the commands of the group, with status 0', async () => {
  const group = await run('signing-key')
  expect(group).toMatchObject({ status: 0, stderr: '' })
  expect(group.stdout).toMatch(/^Usage: teslim signing-key COMMAND \[OPTIONS\]\n\n {2}signing-key list {4}List the/)
  expect(await run('signing-key', '--help')).toEqual(group)
  expect(await run('help', 'signing-key')).toEqual(group)
  const within = await run('delivery', 'refused')
  expect(within.stdout).toMatch(/^Usage: teslim delivery refused COMMAND \[OPTIONS\]\n/)
  expect(await run('delivery', 'refused', '--help')).toEqual(within)
  expect((await run('delivery', '--help')).stdout).toContain('delivery refused show REFUSALID')
})

it('help COMMAND and COMMAND --help show the options of a command, also before or after other words', async () => {
  const command = await run('help', 'customer', 'allow')
  expect(command.stdout).toMatch(/^Usage: teslim customer allow CUSTOMER RULE\.\.\. \[OPTIONS\]\n/)
  expect(await run('customer', 'allow', '--help')).toEqual(command)
  expect(await run('customer', 'allow', 'a@b.co', '-h')).toEqual(command)
})

it('options may stand before the command, also with values that spell a command, and with --help', async () => {
  const sorted = (text: string) => text.replaceAll(/\S+-\S+/g, '')
  const there = await run('customer', 'list', '--json')
  expect(there.status).toBe(1)
  expect(sorted((await run('--json', 'customer', 'list')).stderr)).toBe(sorted(there.stderr))
  const behind = await run('key', 'set', 'ID', '--label', 'purge')
  expect(behind.stderr).toMatch(/^teslim key set: /)
  expect(await run('--label', 'purge', 'key', 'set', 'ID')).toEqual(behind)
  expect(await run('--label=purge', 'key', 'set', 'ID')).toEqual(behind)
  const help = await run('help', 'customer', 'list')
  for (const args of [
    ['--json', 'customer', 'list', '--help'],
    ['-h', '--json', 'customer', 'list'],
  ])
    expect(await run(...args)).toEqual(help)
  expect(await run('--label', 'purge', 'key', 'set', '--help')).toEqual(await run('help', 'key', 'set'))
})

it.each([
  [['help', 'nothing'], 'there is no help on "nothing"'],
  [['custmer', 'list'], 'there is no command "custmer list", did you mean "customer list"?'],
  [['customer', 'lst'], 'there is no command "customer lst", did you mean "customer list"?'],
  [['custmer'], 'there is no command "custmer", did you mean "customer"?'],
  [['--help', 'nothing'], 'there is no command "nothing" (see teslim --help)'],
  [['help', 'nothing'], '(see teslim help)'],
  [['nothing', '--help'], 'there is no command "nothing"'],
  [['completion', 'bsh'], 'the argument is one of bash, zsh, fish, not "bsh", did you mean bash?'],
  [['version', 'x'], '"x" is one word too many'],
])('teslim %j is misuse: %s', async (args, message) => {
  expect(await run(...args)).toEqual({ status: 2, stdout: '', stderr: expect.stringContaining(message) })
})

it.each([40, 80, 200])('help wraps at words to %d columns', (width) => {
  const topics = ['', 'customer', ...commandNames]
  const lines = topics.flatMap((topic) => helpOn(topic, groups, width)?.split('\n') ?? [])
  const tooLong = lines.filter((line) => line.length > Math.max(width, 62) && line.trim().includes(' '))
  expect(tooLong).toEqual([])
  expect(Math.max(...lines.map(({ length }) => length))).toBeGreaterThan(width / 2)
})

it('errors wrap at words on a terminal', async () => {
  const { stderr } = await runCommand(['order', 'list', '--status', 'cancelled'], { cwd, columns: 40 })
  expect(stderr.split('\n').filter((line) => line.length > 40)).toEqual([])
  expect(stderr.replace(/\n(?!$)/g, ' ')).toBe((await run('order', 'list', '--status', 'cancelled')).stderr)
})

import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { shellCommand, teslim } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const hasScript = spawnSync('script', ['--version']).error === undefined
if (!hasScript) console.warn('skipped: there is no command "script" to make a terminal with')

const cwd = tempFolder()
const env = { PATH: process.env.PATH ?? '', TERM: 'xterm', TZ: 'Europe/Istanbul' }

/** What a shell prints on a terminal of 80 columns. */
function onTerminal(command: string): string {
  const { status, stdout } = spawnSync('script', ['-qec', `stty cols 80; ${command}`, '/dev/null'], {
    cwd,
    env,
    encoding: 'utf8',
  })
  expect([command, status]).toEqual([command, 0])
  return stdout.replaceAll('\r', '')
}

it.skipIf(!hasScript)(
  'a terminal shows the time of its zone, takes it back, and shows UTC where it is asked to',
  async () => {
    const add = ['customer', 'add', '--email', 'shop@example.com', '--allow', '*']
    expect((await teslim(add, { cwd, env })).status).toBe(0)
    const list = onTerminal(shellCommand('audit', 'list'))
    const [, day = '', hour = '', rest = ''] =
      /^time \(\+03:00\) .*\n *what\n([\d-]{10}) (\d\d)(:\d\d:\d\d) {2}customer\.add/.exec(list) ?? []
    const shown = Date.parse(`${day}T${hour}${rest}+03:00`)
    expect(Math.abs(Date.now() - shown)).toBeLessThan(60_000)

    const again = onTerminal(shellCommand('audit', 'list', '--from', `${day} ${hour}${rest}`))
    expect(again).toBe(list)
    const inUtc = `${new Date(shown).toISOString().slice(0, 19).replace('T', ' ')}  customer.add`
    expect(onTerminal(shellCommand('audit', 'list', '--utc'))).toMatch(/^time \(UTC\) /)
    expect(onTerminal(shellCommand('audit', 'list', '--utc'))).toContain(inUtc)
    expect(onTerminal(`${shellCommand('audit', 'list')} | cat`)).toContain(inUtc)
    expect((await teslim(['audit', 'list'], { cwd, env })).stdout).toContain(inUtc)
    expect(JSON.parse(onTerminal(shellCommand('audit', 'list', '--json')))[0].at).toMatch(
      new RegExp(`^${new Date(shown).toISOString().slice(0, 19)}`),
    )
  },
)

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { COMMAND, COMMAND_PATTERN, shellCommand, startProcess } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const hasScript = spawnSync('script', ['--version']).error === undefined
if (!hasScript) console.warn('skipped: there is no command "script" to make a terminal with')

/** Starts `teslim serve` on a terminal of its own. The usual port of metrics may be another test's, of which it would warn. */
function serveOnTerminal(env: Record<string, string> = {}, cwd = tempFolder()) {
  const all = { PATH: process.env.PATH ?? '', TERM: 'xterm', PORT: '0', TESLIM_OPS_PORT: '0', ...env }
  const child = spawn('script', ['-qec', `exec ${shellCommand('serve')}`, '/dev/null'], { cwd, env: all })
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text.replaceAll('\r\n', '\n').replaceAll('\x1b', 'ESC')
  })
  const shows = (pattern: RegExp): Promise<void> => expect.poll(() => printed, { timeout: 20_000 }).toMatch(pattern)
  return { child, cwd, shows, text: () => printed }
}

describe.skipIf(!hasScript)('on a terminal', () => {
  it('the log is readable and coloured, no warning comes first, nobody need read it, and Ctrl+C ends the server', async () => {
    const { child, cwd, shows, text } = serveOnTerminal()
    await shows(new RegExp(`^ {2}${COMMAND_PATTERN} delivery list\n`, 'm'))
    const [first] = text().split('\n')
    expect(first).toMatch(/^ESC\[2m\d\d:\d\d:\d\dESC\[\d+m ESC\[36minfo ESC\[39m teslim starts /)
    expect(text()).not.toMatch(/warn|"level"/)
    const [, url = ''] =
      /teslim listens on (\S+)\. Ctrl\+C stops it\.\nAPI reference: \1\/docs\nConsole: \1\/console\n/.exec(text()) ?? []
    expect(text()).toContain(`\n  ${COMMAND} order list\n`)
    expect((await fetch(`${url}/Purchase/list`)).status).toBe(401)
    await shows(/GET \/Purchase\/list ESC\[33m401ESC\[39m TOKEN_MISSING .* ms [0-9a-f]{8}/)

    // A terminal that nobody reads does not stop the server.
    child.stdout.pause()
    child.kill('SIGSTOP')
    for (let i = 0; i < 1000; i++) expect((await fetch(`${url}/livez`)).status).toBe(200)
    child.kill('SIGCONT')
    child.stdout.resume()

    const ended = once(child, 'close')
    child.stdin.write('\x03')
    expect(await ended).toEqual([0, null])
    expect(text()).toMatch(/stopped\n$/)

    const second = serveOnTerminal({ NO_COLOR: '1' }, cwd)
    await second.shows(/key issue/)
    expect(second.text()).toMatch(
      /teslim listens on \S+\. Ctrl\+C stops it\.\nAPI reference: \S+\/docs\nConsole: \S+\/console\n/,
    )
    expect(second.text()).toContain('sandbox customer sandbox@example.com')
    expect(second.text()).toContain(`${COMMAND} customer set-password sandbox@example.com --generate`)
    expect(second.text()).not.toContain('ESC')
  })

  it.each([{ NODE_ENV: 'production' }, { TESLIM_LOG: 'json' }])('the log is JSON with %j', async (env) => {
    const { shows, text } = serveOnTerminal(env)
    await shows(/"teslim starts"\}\n/)
    const [first = ''] = text().split('\n')
    expect(JSON.parse(first)).toMatchObject({ level: 30, msg: 'teslim starts' })
  })
})

it('TESLIM_LOG=pretty makes a log without a terminal readable, without colours', async () => {
  const child = startProcess(['serve'], { cwd: tempFolder(), env: { PORT: '0', TESLIM_LOG: 'pretty' } })
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  await expect.poll(() => printed, { timeout: 20_000 }).toMatch(/^\d\d:\d\d:\d\d info {2}listening on/m)
  expect(printed).not.toContain('\x1b')
})

it('without a terminal the log is JSON, and nothing else is on stdout', async () => {
  const child = startProcess(['serve'], { cwd: tempFolder(), env: { PORT: '0' } })
  onTestFinished(() => void child.kill('SIGKILL'))
  const printed = text(child.stdout)
  await once(child.stderr, 'data')
  child.kill('SIGTERM')
  expect(await printed).toMatch(/^\{"level":30,.*"teslim starts"\}$/m)
  for (const line of (await printed).trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg')
})

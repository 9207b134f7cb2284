import { expect, it } from 'vitest'
import { runCommand } from '../support/processes/command.ts'
import { tempFolder } from '../support/temp-folder.ts'

it.each([
  [['srve'], 'teslim: there is no command "srve", did you mean "serve"? (see teslim --help)'],
  [
    ['--verison'],
    'teslim: there is no option --verison without a command, did you mean --version? (see teslim --help)',
  ],
  [['-x', 'version'], 'teslim version: there is no option -x (see teslim version --help)'],
  [['-v', 'key', 'list'], 'teslim key list: there is no option -v'],
  [['--label', '-v', 'key', 'set', 'ID'], 'teslim key set: --label needs a value: --label TEXT'],
  [['--customer', 'key', 'list'], 'teslim key list: --customer needs a value: --customer CUSTOMER (see'],
  [['bar', 'backup'], 'teslim: there is no command "bar backup"'],
  [['--', 'backup', 'bar'], 'teslim: there is no option -- without a command'],
  [['customer', '--utc'], 'teslim: a command is missing: teslim customer COMMAND'],
  [['customer', 'ad'], 'teslim: there is no command "customer ad", did you mean "customer add"?'],
  [['customer', 'add', '--emial', 'x'], 'teslim customer add: there is no option --emial, did you mean --email?'],
  [['customer', 'add', '--email', 'a', '--email', 'b'], 'teslim customer add: --email is given twice'],
  [['customer', 'add', '--api'], 'teslim customer add: --email is required'],
  [['customer', 'add', '--email'], 'teslim customer add: --email needs a value: --email ADDRESS (see'],
  [
    ['customer', 'set', 'a', '--operator', '--utc'],
    'teslim customer set: --operator needs a value: --operator YES|NO; one that begins with a dash is written --operator=-... (see',
  ],
  [['customer', 'add', '--email', 'a', '--api=yes'], 'teslim customer add: --api takes no value (see'],
  [['customer', 'add', '--email', 'a@b.co', '--api'], 'teslim customer add: a password is needed: --password-stdin'],
  [['customer', 'show'], 'teslim customer show: CUSTOMER is missing'],
  [['customer', 'show', 'a', 'b'], 'teslim customer show: "b" is one word too many'],
  [['customer', 'allow', 'a'], 'teslim customer allow: RULE... is missing'],
])('the command line %j is misuse, said in one line', async (args, line) => {
  const { status, stdout, stderr } = await runCommand(args, { cwd: tempFolder() })
  expect([status, stdout, stderr.trimEnd().split('\n')]).toEqual([2, '', [expect.stringContaining(line)]])
})

it.each([
  [['--json'], {}, 2, 'MISUSE', 'a command is missing: teslim --json COMMAND (see teslim --help)'],
  [['--json', 'srve'], {}, 2, 'MISUSE', 'there is no command "srve", did you mean "serve"? (see teslim --help)'],
  [['customer', 'show', '--json'], {}, 2, 'MISUSE', 'CUSTOMER is missing (see teslim customer show --help)'],
  [
    ['config', '--json'],
    { PORT: 'x', TESLIM_TOKEN_TTL: 'y' },
    2,
    'SETTINGS_INVALID',
    expect.stringMatching(/^PORT: .+\nTESLIM_TOKEN_TTL: .+$/),
  ],
  [['customer', 'list', '--json'], {}, 1, 'STORE_MISSING', expect.stringMatching(/^There is no store at .*\.$/)],
])('with --json the error of %j is one JSON value on stderr', async (args, env, status, errorCode, message) => {
  const outcome = await runCommand(args, { cwd: tempFolder(), env })
  expect([outcome.status, outcome.stdout]).toEqual([status, ''])
  expect(outcome.stderr.trimEnd()).not.toContain('\n')
  expect(JSON.parse(outcome.stderr)).toEqual({ errorCode, message })
})

it('--json behind -- is no option', async () => {
  const { stderr } = await runCommand(['customer', 'show', '--', '--json', 'x'], { cwd: tempFolder() })
  expect(stderr).toMatch(/^teslim customer show: "x" is one word too many/)
})

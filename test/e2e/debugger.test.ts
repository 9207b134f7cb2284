import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { runPrepared } from '../support/processes/prepared-commands.ts'
import { startProcess } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

it.each([
  ['a server', ['serve']],
  ['a command that runs for long', ['backup', '.', '--every', '6h']],
])('SIGUSR1 opens no debugger in %s, which goes on', async (_name, args) => {
  const cwd = tempFolder()
  await runPrepared(['migrate'], { cwd })
  // Node would say on stderr that the debugger listens, before it handles the next signal.
  const child = startProcess(args, {
    cwd,
    node: ['--inspect-port=0'],
    env: { NODE_ENV: 'production', PORT: '0', TESLIM_OPS_PORT: '0' },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const errors = text(child.stderr)
  await once(child.stdout, 'data')
  child.stdout.resume()
  child.kill('SIGUSR1')
  child.kill('SIGTERM')
  expect(await once(child, 'close')).toEqual([0, null])
  expect(await errors).not.toContain('Debugger')
})

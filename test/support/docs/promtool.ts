import { spawnSync } from 'node:child_process'

export const hasPromtool = spawnSync('promtool', ['--version']).status === 0
if (!hasPromtool) console.info('skipped: promtool is not installed (Debian: prometheus), so it checks nothing')

/** Runs `promtool ARGS` and returns its exit status and everything that it printed. */
export function promtool(args: readonly string[], input = '', cwd = '.') {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, cwd, encoding: 'utf8' })
  return { status, output: stdout + stderr }
}

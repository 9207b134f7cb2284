import { readFileSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { runCommand } from './command.ts'

/**
 * The end of a shell script that has the test's process run `teslim "$@"`, and then prints and ends as the command did.
 * The process that starts the shell reads its third file descriptor with `answerCalls`.
 */
export const calling = `
case "$1 $2" in serve*|'webhook listen') exec node bin/teslim.js "$@" ;; esac
call=$(mktemp -d)
for argument in "$@"; do printf '%s\\0' "$argument"; done > "$call/args"
env -0 > "$call/env"
pwd > "$call/folder"
cat > "$call/stdin"
mkfifo "$call/status"
printf '%s\\n' "$call" >&3
read -r status < "$call/status"
cat "$call/stdout"
cat "$call/stderr" >&2
rm -r "$call"
exit "$status"
`

/** Runs the commands of a shell's stand-ins for `teslim`, until the shell has ended. */
export async function answerCalls(calls: Readable): Promise<void> {
  for await (const call of createInterface({ input: calls })) {
    const read = (name: string): string => readFileSync(join(call, name), 'utf8')
    const parts = (name: string): string[] => read(name).split('\0').slice(0, -1)
    const { status, stdout, stderr } = await runCommand(parts('args'), {
      cwd: read('folder').replace(/\n$/, ''),
      env: Object.fromEntries(parts('env').map((each) => [each.split('=', 1)[0], each.slice(each.indexOf('=') + 1)])),
      stdin: read('stdin'),
    }).catch((error: Error) => ({ status: 'none', stdout: '', stderr: `${error.stack}\n` }))
    writeFileSync(join(call, 'stdout'), stdout)
    writeFileSync(join(call, 'stderr'), stderr)
    // Waits for the shell to read it.
    await writeFile(join(call, 'status'), `${status}\n`)
  }
}

import { expect } from 'vitest'
import type { Check } from '#src/doctor/checks.ts'
import { textOf } from '#src/lib/messages/message.ts'
import { type CommandOptions, runCommand } from './command.ts'

/** What `teslim doctor` finds: all of it, and under a name, each as `status: message`. */
export async function askDoctor(options: CommandOptions) {
  const { status: exit, stdout, stderr } = await runCommand(['doctor', '--json'], options)
  expect(stderr).toBe('')
  const { checks, status: worst } = JSON.parse(stdout) as { checks: Check[]; status: string }
  for (const check of checks) expect(textOf(check)).toBe(check.message)
  const found = (name: string): string[] =>
    checks.filter((check) => check.name === name).map(({ status, message }) => `${status}: ${message}`)
  return { exit, worst, checks, found }
}

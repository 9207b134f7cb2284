import { ConfigError } from '#src/config/load-config.ts'
import { type Check, checkNode, checkProgram, failed, worstOf } from '#src/doctor/checks.ts'
import { examine } from '#src/doctor/examine.ts'
import { textOf } from '#src/lib/messages/message.ts'
import type { CliContext, Command } from './command.ts'
import { table } from './output/table.ts'

export const doctor: Command = {
  name: 'doctor',
  about: 'Check settings, certificate, files, disk, store and keys',
  details: 'It changes nothing in the store. The exit status is 1 if a check failed.',
  options: {
    full: { about: 'Check the whole file of an embedded store for damage, however large it is' },
  },
  async run(input, context) {
    const checks = await collect(input.flag('full'), context)
    const worst = worstOf(checks)
    const timeText = (time: string): string => context.times.text(Date.parse(time))
    const rows = checks.map((check) => [check.status, check.name, textOf(check, timeText)])
    return {
      json: { status: worst, checks },
      text: () => table(['status', 'check', 'found'], rows, context.columns),
      status: worst === 'failed' ? 1 : 0,
    }
  },
}

async function collect(full: boolean, context: CliContext): Promise<Check[]> {
  const loaded = loadSettings(context)
  if (Array.isArray(loaded)) return [checkProgram(), checkNode(process.versions.node), ...loaded]
  const { clock, random } = context
  const depth = full ? 'full' : 'usual'
  return (await Array.fromAsync(examine(loaded, { depth, clock, random }))).flat()
}

function loadSettings({ loadConfig }: CliContext): ReturnType<CliContext['loadConfig']> | Check[] {
  try {
    return loadConfig()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map((problem) => failed('settings', 'SETTING_WRONG', { problem }))
  }
}

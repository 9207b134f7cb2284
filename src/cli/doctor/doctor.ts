import { ConfigError } from '#src/config/load-config.ts'
import type { CliContext, Command } from '../command.ts'
import { table } from '../output/table.ts'
import { checkCertificate } from './certificate.ts'
import { type Check, checkListening, checkNode } from './checks.ts'
import { checkFiles } from './files.ts'
import { checkStore } from './store.ts'

export const doctor: Command = {
  name: 'doctor',
  about: 'Check settings, certificate, files, disk, store and keys',
  details: 'It changes nothing in the store. The exit status is 1 if a check failed.',
  options: {
    full: { type: 'boolean', about: 'Check the whole file of an embedded store for damage, however large it is' },
  },
  async run(input, context) {
    const checks = await examine(input.flag('full'), context)
    const worst = (['failed', 'warning'] as const).find((status) => checks.some((check) => check.status === status))
    if (input.json) context.out(JSON.stringify({ status: worst ?? 'ok', checks }))
    else
      context.out(
        table(
          ['status', 'check', 'found'],
          checks.map(({ status, name, message }) => [status, name, message]),
          context.columns,
        ),
      )
    return worst === 'failed' ? 1 : 0
  },
}

async function examine(full: boolean, context: CliContext): Promise<Check[]> {
  const loaded = loadSettings(context)
  if (Array.isArray(loaded)) return [checkNode(process.versions.node), ...loaded]
  const { config, sources } = loaded
  const count = Object.keys(sources).length
  return [
    checkNode(process.versions.node, config.environment),
    { name: 'settings', status: 'ok', message: `all ${count} are valid: see teslim config` },
    ...checkListening(config),
    ...checkCertificate(config, context.clock.now()),
    ...(await checkFiles(loaded)),
    ...(await checkStore(config, full, context)),
  ]
}

function loadSettings({ loadConfig }: CliContext): ReturnType<CliContext['loadConfig']> | Check[] {
  try {
    return loadConfig()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map((message) => ({ name: 'settings', status: 'failed', message }))
  }
}

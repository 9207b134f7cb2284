import type { LoadedConfig } from '#src/config/load-config.ts'
import { checkCertificate } from './certificate.ts'
import { type Check, checkListening, checkNode, checkProgram, type ExaminationOptions, ok } from './checks.ts'
import { checkFiles } from './files.ts'
import { checkStore } from './store.ts'

/** Looks at what fails in production, and changes nothing. Yields what it found as it goes. */
export async function* examine(loaded: LoadedConfig, options: ExaminationOptions): AsyncGenerator<Check[]> {
  const { config, sources, notes } = loaded
  const { clock, onBegin } = options
  yield [
    checkProgram(),
    checkNode(process.versions.node, config.environment),
    ok('settings', `all ${Object.keys(sources).length} are valid: see teslim config`),
    ...notes.map((note) => ok('settings', note)),
    ...checkListening(config),
    ...checkCertificate(config, clock.now()),
  ]
  onBegin?.('files')
  yield await checkFiles(loaded)
  yield await checkStore(config, options)
}

import { isSafeNode } from '#src/doctor/checks.ts'
import { COMMIT, FORM, VERSION } from '#src/lib/version.ts'
import type { Command } from './command.ts'

export const version: Command = {
  name: 'version',
  about: 'Show the version and how it was installed (also --version, -v, -V)',
  async run() {
    const { node } = process.versions
    const isForTrying = FORM === 'executable' && !isSafeNode(node)
    const warning = isForTrying ? ` (for trying: its Node ${node} lacks security fixes)` : ''
    return { json: { version: VERSION, node, commit: COMMIT, form: FORM }, text: () => `teslim ${VERSION}${warning}` }
  },
}

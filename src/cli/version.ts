import { isSafeNode } from '#src/doctor/checks.ts'
import { COMMIT, FORM, VERSION } from '#src/lib/version.ts'
import type { Command } from './command.ts'

export const version: Command = {
  name: 'version',
  about: 'Show the version and how it was installed (also --version, -v, -V)',
  async run({ json }, { out }) {
    const { node } = process.versions
    const isForTrying = FORM === 'executable' && !isSafeNode(node)
    const warning = isForTrying ? ` (for trying: its Node ${node} lacks security fixes)` : ''
    out(json ? JSON.stringify({ version: VERSION, node, commit: COMMIT, form: FORM }) : `teslim ${VERSION}${warning}`)
  },
}

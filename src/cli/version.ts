import { COMMIT, FORM, VERSION } from '#src/lib/version.ts'
import type { Command } from './command.ts'

export const version: Command = {
  name: 'version',
  about: 'Show the version and how it was installed (also --version, -v, -V)',
  async run({ json }, { out }) {
    const { node } = process.versions
    out(json ? JSON.stringify({ version: VERSION, node, commit: COMMIT, form: FORM }) : `teslim ${VERSION}`)
  },
}

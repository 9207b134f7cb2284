import { VERSION } from '#src/lib/version.ts'
import type { Command } from './command.ts'

export const version: Command = {
  name: 'version',
  about: 'Show the version (also --version, -v, -V)',
  async run({ json }, { out }) {
    out(json ? JSON.stringify({ version: VERSION, node: process.versions.node }) : `teslim ${VERSION}`)
  },
}

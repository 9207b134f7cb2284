import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { type SettingName, settings } from './settings.ts'

/** Settings that hold a secret, each with the setting that names a file to read it from. */
export const SECRET_FILES: readonly (readonly [secret: SettingName, file: SettingName])[] = [
  ['secret', 'secretFile'],
  ['formerSecret', 'formerSecretFile'],
]

type Values = Record<string, unknown>

/** Copies secrets from their files into the settings, and returns what is wrong with the files. */
export function readSecretFiles(config: Values, sources: Values): string[] {
  const problems: string[] = []
  for (const [secret, file] of SECRET_FILES) {
    const path = config[file] as string
    if (path === '') continue
    const { variable, allowed, read } = settings[secret]
    const found = config[secret] === '' ? readSecret(path) : { wrong: `left out where ${variable} is set` }
    if ('text' in found && read(found.text) !== undefined) {
      config[secret] = found.text
      sources[secret] = sources[file]
    } else {
      const must = 'wrong' in found ? found.wrong : `a file that holds ${allowed}`
      problems.push(`${settings[file].variable}: ${JSON.stringify(path)} is not allowed, it must be ${must}`)
    }
  }
  return problems
}

function readSecret(path: string): { readonly text: string } | { readonly wrong: string } {
  try {
    const bytes = readFileSync(path)
    // Invalid UTF-8 decodes to replacement characters, so different secrets would become equal.
    if (!isUtf8(bytes)) return { wrong: 'a file of text: base64, for example' }
    return { text: bytes.toString('utf8').replace(/\r?\n$/, '') }
  } catch (error) {
    return { wrong: `a file that can be read (${(error as NodeJS.ErrnoException).code})` }
  }
}

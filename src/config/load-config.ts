import { nearest } from '#src/lib/nearest.ts'
import { asciiLowerCase } from '#src/lib/text.ts'
import { readSecretFiles } from './secret-file.ts'
import { isServiceLink } from './service-links.ts'
import type { Setting } from './setting-kinds.ts'
import { type SettingName, settings } from './settings.ts'

export type Config = { readonly [Name in SettingName]: (typeof settings)[Name]['default'] }
export type Variables = Readonly<Record<string, string | undefined>>
export type Source = 'default' | 'environment' | '.env'

export interface LoadedConfig {
  readonly config: Config
  readonly sources: Readonly<Record<SettingName, Source>>
  /** What counts otherwise than as it was written, one line each. */
  readonly notes: readonly string[]
  /** What HTTPS_PROXY, HTTP_PROXY and NO_PROXY say, in capital or in small letters. */
  readonly proxyVariables?: Variables
}

/** All wrong settings at once, one line each. */
export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

const entries = Object.entries(settings) as [SettingName, Setting][]
const VARIABLES = entries.map(([, { variable }]) => variable)

/** Reads the settings. The environment wins over the file; an empty value counts as not set, and so does a service link of Kubernetes. */
export function loadConfig(given: Variables, file: Variables = {}): LoadedConfig {
  const environment = { ...given }
  const notes: string[] = []
  for (const [name, value] of Object.entries(given)) {
    if (!isServiceLink(name, value)) continue
    delete environment[name]
    if (VARIABLES.includes(name))
      notes.push(`${name}: ${value} is a service link of Kubernetes, not a setting: ignored`)
  }
  const problems = [...unknownNames(environment, 'environment'), ...unknownNames(file, '.env')]
  const config: Record<string, unknown> = {}
  const sources: Record<string, Source> = {}
  for (const [name, setting] of entries) {
    const { variable, allowed, mask } = setting
    const source: Source = environment[variable] ? 'environment' : file[variable] ? '.env' : 'default'
    const written = environment[variable] || file[variable] || ''
    const value = written === '' ? setting.default : setting.read(written)
    if (value === undefined) {
      const shown = mask ? 'its value' : JSON.stringify(written)
      problems.push(`${variable}: ${shown} is not allowed, it must be ${allowed}${hint(setting, written)}`)
    }
    const note = written === '' ? undefined : setting.note?.(written)
    if (note !== undefined) notes.push(`${variable}: ${JSON.stringify(written)} ${note}`)
    config[name] = value
    sources[name] = source
  }
  problems.push(...readSecretFiles(config, sources))
  problems.push(...halfPairs(config))
  if (problems.length > 0) throw new ConfigError(problems)
  const proxyVariables = Object.fromEntries(PROXY_VARIABLES.map((name) => [name, environment[name] || file[name]]))
  return { config: Object.freeze(config) as Config, sources: sources as LoadedConfig['sources'], notes, proxyVariables }
}

const PROXY_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()])

/** Finds a certificate without a key, or a key without a certificate. */
function halfPairs({ tlsCertificateFile, tlsKeyFile }: Record<string, unknown>): string[] {
  if ((tlsCertificateFile === '') === (tlsKeyFile === '')) return []
  const [missing, given] =
    tlsKeyFile === '' ? ['TESLIM_TLS_KEY', 'TESLIM_TLS_CERT'] : ['TESLIM_TLS_CERT', 'TESLIM_TLS_KEY']
  return [`${missing}: leaving it out is not allowed, it must be set where ${given} is`]
}

/** Says what is wrong, or suggests the choice that was probably meant: `err` is short for `error`. */
function hint({ choices = [], hint }: Setting, written: string): string {
  const wrong = hint?.(written)
  if (wrong !== undefined) return `; ${wrong}`
  const lower = asciiLowerCase(written)
  const meant = choices.find((choice) => choice.startsWith(lower)) ?? nearest(lower, choices)
  return meant === undefined ? '' : `; did you mean ${meant}?`
}

const withoutPrefix = (variable: string): string => variable.replace(/^TESLIM_/, '')

function unknownNames(variables: Variables, source: Source): string[] {
  return Object.keys(variables)
    .filter((variable) => variable.startsWith('TESLIM_') && !VARIABLES.includes(variable))
    .map((variable) => {
      const name = nearest(withoutPrefix(variable), VARIABLES.map(withoutPrefix))
      const meant = VARIABLES.find((one) => withoutPrefix(one) === name)
      return `${variable}: there is no such setting (found in ${source === '.env' ? 'the .env file' : 'the environment'})${meant ? `, did you mean ${meant}?` : ''}`
    })
}

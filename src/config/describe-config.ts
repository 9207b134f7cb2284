import type { LoadedConfig, Source } from './load-config.ts'
import { type Setting, type SettingName, settings } from './settings.ts'

export interface EffectiveSetting {
  readonly variable: string
  readonly value: string | number
  readonly source: Source
  readonly default: string | number
  readonly about: string
}

/** The settings as they apply, with secrets masked. */
export function describeConfig({ config, sources }: LoadedConfig): EffectiveSetting[] {
  return (Object.entries(settings) as [SettingName, Setting][]).map(([name, { variable, schema, mask }]) => ({
    variable,
    value: mask ? mask(String(config[name])) : config[name],
    source: sources[name],
    default: schema.default,
    about: schema.description ?? '',
  }))
}

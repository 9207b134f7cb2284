import type { LoadedConfig } from './load-config.ts'
import type { Setting } from './setting-kinds.ts'
import { type SettingName, settings } from './settings.ts'

/** Lists the effective settings, with secrets masked. */
export function describeConfig({ config, sources }: LoadedConfig) {
  return (Object.entries(settings) as [SettingName, Setting][]).map(
    ([name, { variable, mask, description, ...setting }]) => ({
      variable,
      value: shown(config[name], mask),
      source: sources[name],
      default: shown(setting.default as string | number | readonly string[]),
      about: description,
    }),
  )
}

/** Formats a value the way the environment spells it. */
function shown(value: string | number | readonly string[], mask?: (value: string) => string): string | number {
  if (typeof value === 'number') return value
  const text = typeof value === 'string' ? value : value.join(',')
  return mask ? mask(text) : text
}

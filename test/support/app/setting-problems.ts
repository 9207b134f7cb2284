import { ConfigError, loadConfig, type Variables } from '#src/config/load-config.ts'

/** What teslim would say of these settings at its start. */
export function settingProblems(variables: Variables): readonly string[] {
  try {
    loadConfig(variables)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems
  }
}

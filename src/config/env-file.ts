import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { ConfigError, type Variables } from './load-config.ts'

/** The variables in an optional `.env` file. No file is an empty one; a file that cannot be read is an error. */
export function readEnvFile(path: string): Variables {
  try {
    return parseEnv(readFileSync(path, 'utf8'))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return {}
    throw new ConfigError([`${path}: the settings file cannot be read (${code})`])
  }
}

import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { ConfigError, type Variables } from './load-config.ts'

/** UTF-8, with or without a byte order mark. */
const decode = (bytes: Buffer): string => {
  if (!isUtf8(bytes) || bytes.includes(0)) throw Object.assign(new Error(), { code: 'not UTF-8 text' })
  return bytes.toString('utf8').replace(/^\ufeff/, '')
}

/** The variables in an optional `.env` file. No file is an empty one; a file that cannot be read is an error. */
export function readEnvFile(path: string): Variables {
  try {
    return parseEnv(decode(readFileSync(path)))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return {}
    throw new ConfigError([`${path}: the settings file cannot be read (${code})`])
  }
}

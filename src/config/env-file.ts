import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { ConfigError, type Variables } from './load-config.ts'

/** Reads the variables of an optional `.env` file. A missing file counts as empty; an unreadable one is an error. */
export function readEnvFile(path: string): Variables {
  const bytes = read(path)
  if (!isUtf8(bytes) || bytes.includes(0)) throw unreadable(path, 'not UTF-8 text')
  return parseEnv(bytes.toString('utf8').replace(/^\ufeff/, ''))
}

function read(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return Buffer.alloc(0)
    throw unreadable(path, code)
  }
}

const unreadable = (path: string, why: string): ConfigError =>
  new ConfigError([`${path}: the settings file cannot be read (${why})`])

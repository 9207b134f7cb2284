import { isUtf8 } from 'node:buffer'
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { userName, writableByOthers } from '#src/lib/folder-of-another.ts'
import { ConfigError, type Variables } from './load-config.ts'

/**
 * Reads the variables of an optional `.env` file. A missing file counts as empty; one that cannot be read, or that another user could
 * write, is an error: whoever runs a command in a folder of others must not use their database.
 */
export function readEnvFile(path: string): Variables {
  const bytes = read(path)
  if (!isUtf8(bytes) || bytes.includes(0)) throw unreadable(path, 'not UTF-8 text')
  return parseEnv(bytes.toString('utf8').replace(/^\ufeff/, ''))
}

function read(path: string): Buffer {
  let file: number | undefined
  try {
    file = openSync(path, 'r')
    refuseOfOthers(path, file)
    return readFileSync(file)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return Buffer.alloc(0)
    throw error instanceof ConfigError ? error : unreadable(path, code)
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

function refuseOfOthers(path: string, file: number): void {
  // Windows has none.
  const self = process.geteuid?.()
  if (self === undefined) return
  const stats = fstatSync(file)
  if (stats.uid !== 0 && stats.uid !== self)
    throw new ConfigError([
      `${path}: settings are not taken from a file of ${userName(stats.uid)}: run teslim as that user, or make the file yours`,
    ])
  if (writableByOthers(stats, process.getegid?.()))
    throw new ConfigError([`${path}: others may write to it: take that right away (chmod go-w)`])
}

const unreadable = (path: string, why: string): ConfigError =>
  new ConfigError([`${path}: the settings file cannot be read (${why})`])

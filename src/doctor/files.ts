import { stat, statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Config, LoadedConfig } from '#src/config/load-config.ts'
import { SECRET_FILES } from '#src/config/secret-file.ts'
import type { Setting } from '#src/config/setting-kinds.ts'
import { type SettingName, settings } from '#src/config/settings.ts'
import { AppError } from '#src/lib/app-error.ts'
import { sqlitePath } from '#src/store/open-store.ts'
import { type Check, failed, ok, skipped, warning } from './checks.ts'

const MIB = 1024 * 1024
/** The check fails below the first limit and warns below the second. */
const MIN_FREE_BYTES = 100 * MIB
const LITTLE_FREE_BYTES = 1024 * MIB

/** Checks who may read the files of an embedded store, and files with a secret; and the free space. */
export async function checkFiles(loaded: LoadedConfig): Promise<Check[]> {
  const checks = [...(await checkSecretFiles(loaded.config)), ...(await checkSettingsFile(loaded))]
  const path = storePath(loaded.config)
  if (path === undefined) return checks
  return [...(await checkPermissions(path)), ...(await checkSpace(dirname(path))), ...checks]
}

/** The file of an embedded store; undefined for another store, and where the URL names no file, as `checkStore` reports. */
function storePath({ databaseUrl }: Config): string | undefined {
  if (!databaseUrl.startsWith('sqlite:')) return undefined
  try {
    return sqlitePath(databaseUrl)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return undefined
  }
}

/** The mode bits of group and others; undefined where there is no such file or the system has no such bits. */
async function rightsOfOthers(path: string): Promise<number | undefined> {
  if (process.platform === 'win32') return undefined
  return stat(path).then(
    ({ mode }) => mode & 0o077,
    () => undefined,
  )
}

async function checkPermissions(path: string): Promise<Check[]> {
  const folder = dirname(path)
  const ofFolder = await rightsOfOthers(folder)
  const files = [path, `${path}-wal`, `${path}-shm`]
  const rights = await Promise.all(files.map(rightsOfOthers))
  const open = files.filter((_, index) => ((rights[index] ?? 0) & 0o066) !== 0)
  const name = 'permissions'
  if (open.length > 0) {
    return [failed(name, 'FILES_OPEN', { files: open.join(' ') })]
  }
  if (ofFolder === undefined) return []
  return [ofFolder === 0 ? ok(name, 'FOLDER_CLOSED', { folder }) : warning(name, 'FOLDER_OPEN', { folder })]
}

/** Undefined where there is no such folder. */
const freeBytes = (folder: string): Promise<number | undefined> =>
  statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => undefined,
  )

async function checkSpace(folder: string): Promise<Check[]> {
  const free = await freeBytes(folder)
  if (free === undefined) return []
  if (free >= LITTLE_FREE_BYTES) return [ok('disk', 'DISK_ENOUGH', { free, folder })]
  return [(free < MIN_FREE_BYTES ? failed : warning)('disk', 'DISK_SHORT', { free, folder })]
}

async function checkSecretFiles(config: Config): Promise<Check[]> {
  const names: SettingName[] = [...SECRET_FILES.map(([, file]) => file), 'tlsKeyFile']
  const checks: Check[] = []
  for (const name of names) {
    const path = config[name] as string
    const rights = path === '' ? undefined : await rightsOfOthers(path)
    if (rights === undefined) continue
    checks.push(checkSecretFile(settings[name].variable, path, rights))
  }
  return checks
}

/** The folder in which containers get their secrets, often readable by everybody inside. Only the host shows who else may read them. */
const MOUNTED_SECRETS = '/run/secrets/'

/** A group may be meant to read such a file, but not to change it. */
export function checkSecretFile(variable: string, path: string, rightsOfOthers: number): Check {
  const name = 'secret files'
  const file = { variable, path }
  if (resolve(path).startsWith(MOUNTED_SECRETS)) return skipped(name, 'SECRET_FILE_MOUNTED', file)
  return (rightsOfOthers & 0o027) === 0 ? ok(name, 'SECRET_FILE_CLOSED', file) : warning(name, 'SECRET_FILE_OPEN', file)
}

/** Warns only if the file itself holds a secret, and not just the path of one. */
async function checkSettingsFile({ config, sources }: LoadedConfig): Promise<Check[]> {
  const elsewhere = SECRET_FILES.filter(([, file]) => config[file] !== '').map(([secret]) => secret)
  const names = (Object.entries(settings) as [SettingName, Setting][])
    .filter(([name]) => sources[name] === '.env' && !elsewhere.includes(name))
    .filter(([name, { mask }]) => mask && mask(String(config[name])) !== config[name])
    .map(([, { variable }]) => variable)
  if (names.length === 0 || !(await rightsOfOthers('.env'))) return []
  return [warning('.env', 'ENV_FILE_OPEN', { names })]
}

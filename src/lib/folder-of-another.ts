import { readFileSync, realpathSync, rmSync, type Stats, statSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { AppError, type ErrorDefinition } from './app-error.ts'
import { shellWord } from './printable.ts'

/** `reason` is how a command begins that is run as the right user; undefined if no single one is. */
export const folderOfAnother = {
  code: 'FOLDER_OF_ANOTHER',
  kind: 'invalid',
  message: 'Root makes no files where another user could put a link in their place.',
} as const satisfies ErrorDefinition

const WRITABLE_BY_GROUP = 0o020
const WRITABLE_BY_OTHERS = 0o002
/** In a folder with this bit, such as /tmp, nobody can replace what others have made. */
const STICKY = 0o1000

/** Throws where root would create a file, and follow a link that another user puts in its place. The folder need not be there yet. */
export function refuseRootIn(folder: string): void {
  if (process.geteuid?.() !== 0) return
  for (let at = realFolder(resolve(folder)); ; at = dirname(at)) {
    const stats = statIfAllowed(at)
    if (stats === undefined) return
    if (stats.uid !== 0) throw refusal(at, `belongs to ${userName(stats.uid)}`, stats.uid)
    if ((stats.mode & STICKY) === 0 && writableByOthers(stats))
      throw refusal(at, 'is one to which others may write', undefined)
    if (at === dirname(at)) return
  }
}

/** Node's permission model, where it is on, shows only the folders that it was told to allow. */
function statIfAllowed(folder: string): Stats | undefined {
  try {
    return statSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_ACCESS_DENIED') return undefined
    throw error
  }
}

/** The nearest folder that is there. */
function realFolder(folder: string): string {
  try {
    return realpathSync.native(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if ((code !== 'ENOENT' && code !== 'ENOTDIR') || folder === dirname(folder)) throw error
    return realFolder(dirname(folder))
  }
}

/** Whether somebody else may write there who is neither root nor in the group `own`, which many systems make for each user. */
export const writableByOthers = ({ mode, gid }: Stats, own = 0): boolean =>
  (mode & WRITABLE_BY_OTHERS) !== 0 || ((mode & WRITABLE_BY_GROUP) !== 0 && gid !== 0 && gid !== own)

/** Makes a file that only its owner may read, and no other one: a link or file that somebody else has put there goes. */
export function writeAnew(path: string, text: string): void {
  rmSync(path, { force: true })
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' })
}

function refusal(folder: string, why: string, uid: number | undefined): AppError {
  const message = `Nothing was done: ${folder} ${why}, and root would follow a link that somebody puts there.`
  if (uid === undefined)
    return new AppError(folderOfAnother, { message: `${message} Take that right away (chmod go-w).` })
  return new AppError(folderOfAnother, { message, reason: `sudo -u ${shellWord(userName(uid))}` })
}

/** sudo takes a user without a name as `#1000`. */
export function userName(uid: number): string {
  let users = ''
  try {
    users = readFileSync('/etc/passwd', 'utf8')
  } catch {
    // A container without users.
  }
  return (
    users
      .split('\n')
      .find((line) => line.split(':')[2] === `${uid}`)
      ?.split(':')[0] ?? `#${uid}`
  )
}

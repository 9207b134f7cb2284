import { userInfo } from 'node:os'

const LONGEST = 64

/** The user at the keyboard, for the audit log. SUDO_USER counts for root only: anybody else could have made it up. */
export function cliActor(sudoUser: string | undefined): string {
  const { username, uid } = whoAmI()
  const name = (uid === 0 && sudoUser) || username
  return `cli:${name.replace(/[\p{C}\s]/gu, '?').slice(0, LONGEST)}`
}

function whoAmI(): { username: string; uid: number } {
  try {
    return userInfo()
  } catch {
    // A container may run as a user id that has no name.
    const uid = process.getuid?.() ?? -1
    return { username: `uid ${uid}`, uid }
  }
}

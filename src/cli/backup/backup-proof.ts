import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Config } from '#src/config/load-config.ts'
import { keyUnder } from '#src/token/key-sealing.ts'

const CONTEXT = 'teslim backups 1'

const hmacUnder = async (secret: string, digest: string): Promise<Buffer> =>
  createHmac('sha256', await keyUnder(secret, CONTEXT))
    .update(digest, 'hex')
    .digest()

/** Signs the SHA-256 of a backup; undefined without TESLIM_SECRET. */
export const signBackup = ({ secret }: Pick<Config, 'secret'>) =>
  secret === ''
    ? undefined
    : async (digest: string): Promise<string> => (await hmacUnder(secret, digest)).toString('hex')

/** Tells whether an HMAC was made under TESLIM_SECRET or TESLIM_SECRET_OLD; undefined without either. */
export function judgeBackup({ secret, formerSecret }: Pick<Config, 'secret' | 'formerSecret'>) {
  const secrets = [secret, formerSecret].filter((each) => each !== '')
  if (secrets.length === 0) return undefined
  return async (digest: string, hmac: string): Promise<boolean> => {
    const made = await Promise.all(secrets.map((each) => hmacUnder(each, digest)))
    return made.some((each) => timingSafeEqual(each, Buffer.from(hmac, 'hex')))
  }
}

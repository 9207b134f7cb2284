import type { ErrorDefinition } from '#src/lib/app-error.ts'
import { type Random, randomText } from '#src/lib/random.ts'
import { customerErrors } from './customer.errors.ts'

const SHORTEST = 8
const ADVISED = 15
export const LONGEST_PASSWORD_BYTES = 1024

const GENERATED_LENGTH = 24

/** The most used passwords of at least 8 characters. */
const COMMONEST = new Set(
  `password password1 password12 password123 password1234 passw0rd p@ssw0rd p@ssword 12345678 123456789 1234567890
  0123456789 987654321 9876543210 11111111 00000000 88888888 12341234 11223344 123123123 112233445566 87654321 1q2w3e4r
  1q2w3e4r5t 1qaz2wsx 1qaz2wsx3edc qwertyui qwertyuiop qwerty123 qwerty1234 qwerty12345 q1w2e3r4 asdfghjk asdfghjkl
  zxcvbnm1 zaq12wsx abcd1234 abc12345 abcdefgh aa123456 a1234567 a12345678 iloveyou iloveyou1 sunshine princess football
  baseball superman trustno1 letmein1 welcome1 welcome123 admin123 admin1234 administrator changeme changeme1 whatever
  computer internet starwars michelle jennifer charlie1 monkey123 dragon123 master123 shadow123 samsung1 fenerbahce
  galatasaray besiktas trabzonspor istanbul turkiye1 parola123 sifre123 sifre1234 secret123 testtest test1234 teslim123`
    .trim()
    .split(/\s+/),
)

export type PasswordVerdict = { readonly refusal: ErrorDefinition } | { readonly warning?: string }

/** Checks a new password. Length counts code points; no kind of character is required or forbidden. */
export function judgePassword(password: string): PasswordVerdict {
  if (!isUsablePassword(password)) return { refusal: customerErrors.passwordUnusable }
  const length = Array.from(password).length
  if (length < SHORTEST) return { refusal: customerErrors.passwordShort }
  if (COMMONEST.has(password.toLowerCase())) return { refusal: customerErrors.passwordCommon }
  return length < ADVISED ? { warning: `The password has ${length} characters; ${ADVISED} or more are safer.` } : {}
}

/** Whether a password can be hashed exactly as sent: a lone surrogate has no UTF-8 form. */
export const isUsablePassword = (password: string): boolean =>
  Buffer.byteLength(password) <= LONGEST_PASSWORD_BYTES && password.isWellFormed()

export const generatePassword = (random: Random): string => randomText(GENERATED_LENGTH, random)

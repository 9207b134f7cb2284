import { AppError } from '#src/lib/app-error.ts'
import { message } from '#src/lib/messages/message.ts'
import { type Random, randomText } from '#src/lib/random.ts'
import { keptWork } from '#src/lib/shared-work.ts'
import { asciiLowerCase } from '#src/lib/text.ts'
import { customerErrors } from './customer.errors.ts'

/** Counted in UTF-16 code units. */
export const MAX_EMAIL_LENGTH = 254
const EMAIL = /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u
const SPACE = 0x20

/**
 * Returns the form in which e-mail addresses are stored and compared: ASCII spaces trimmed, ASCII letters in lower case, nothing
 * else changed. Undefined for text that no account can have, so that NUL and lone surrogates never reach the store.
 */
export function canonicalEmail(text: string): string | undefined {
  const trimmed = trimSpaces(text)
  if (trimmed.length > MAX_EMAIL_LENGTH || !trimmed.isWellFormed() || !EMAIL.test(trimmed)) return undefined
  return asciiLowerCase(trimmed)
}

/** Without a regular expression: `/ +$/` takes quadratic time on spaces in the middle. */
function trimSpaces(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && text.charCodeAt(start) === SPACE) start++
  while (end > start && text.charCodeAt(end - 1) === SPACE) end--
  return text.slice(start, end)
}

export const DEFAULT_REGION = 'TR'
export const REGION_PATTERN = '[A-Za-z]{2}'

const REGION = new RegExp(`^${REGION_PATTERN}$`)

/** Reads two letters of any case as upper case; not sent or empty means the default. Undefined for anything else. */
export function readRegion(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return DEFAULT_REGION
  return REGION.test(text) ? text.toUpperCase() : undefined
}

const MIN_LENGTH = 8
const ADVISED = 15
export const MAX_PASSWORD_BYTES = 1024
const GENERATED_LENGTH = 24

/** What the list of the package lacks, which is from leaks of services in English. */
const LOCAL =
  'p@ssword sifre trabzonspor ataturk mustafakemal cumhuriyet bismillah canim askim seviyorum seniseviyorum hosgeldin izmir bursa kitap kitapci siparis musteri'.split(
    ' ',
  )

/** The package leaves out repetitions and sequences, for which its own program has rules. */
const REPETITION = /^([a-z]|\d{1,4})\1+$/
const SEQUENCES = ['01234567890', '09876543210', 'abcdefghijklmnopqrstuvwxyz']

/** No common password has more characters; a generated one does, so that making a sandbox loads nothing. */
const MAX_COMMON_LENGTH = 20
/** Shorter words, and shorter parts of an address, stand in many a good password. */
const MIN_WORD_LENGTH = 4

/** Loaded with the first password that is set, because most processes set none. */
const loadCommon = keptWork(async () => {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return new Set([...dictionary['passwords-common'], ...LOCAL])
})

/** Letters as people type them who have no Turkish keyboard: in lower case, without dots and accents. */
const folded = (text: string): string =>
  text.toLowerCase().normalize('NFD').replaceAll(/\p{M}/gu, '').replaceAll('ı', 'i')

/** The password, without signs at its end, and without digits and signs there. */
const stems = (text: string): string[] => [text, text.replace(/[^\p{L}\d]+$/u, ''), text.replace(/\P{L}+$/u, '')]

async function isCommon(password: string): Promise<boolean> {
  if (password.length > MAX_COMMON_LENGTH) return false
  const words = [password.toLowerCase(), ...stems(folded(password))].filter(({ length }) => length >= MIN_WORD_LENGTH)
  if (words.some((word) => REPETITION.test(word) || SEQUENCES.some((sequence) => sequence.includes(word)))) return true
  const common = await loadCommon()
  return words.some((word) => common.has(word))
}

const PRODUCT = 'teslim'

/** The address, its domain and its parts, and the product, the longest first. */
function guessed(email: string): string[] {
  const address = folded(email)
  const parts = [address, ...address.split('@'), ...address.split(/[^\p{L}\d]+/u), PRODUCT]
  return parts.filter(({ length }) => length >= MIN_WORD_LENGTH).sort((one, other) => other.length - one.length)
}

/** Whether a password has a part that others guess, and is not long enough without it. */
function isGuessable(password: string, email: string): boolean {
  const text = folded(password)
  const rest = guessed(email).reduce((left, part) => left.replaceAll(part, ''), text)
  return rest !== text && Array.from(rest).length < ADVISED
}

/** Checks a new password for an account, and returns warnings. Length counts code points; no kind of character is required or forbidden. */
export async function checkPassword(password: string, email: string): Promise<string[]> {
  if (!isUsablePassword(password)) throw new AppError(customerErrors.passwordUnusable)
  const length = Array.from(password).length
  if (length < MIN_LENGTH) throw new AppError(customerErrors.passwordShort)
  if (isGuessable(password, email))
    throw new AppError(customerErrors.passwordCommon, { message: message('PASSWORD_GUESSABLE') })
  if (await isCommon(password)) throw new AppError(customerErrors.passwordCommon)
  return length < ADVISED ? [`The password has ${length} characters; ${ADVISED} or more are safer.`] : []
}

/** Whether a password can be hashed exactly as sent: a lone surrogate has no UTF-8 form. */
export const isUsablePassword = (password: string): boolean =>
  Buffer.byteLength(password) <= MAX_PASSWORD_BYTES && password.isWellFormed()

export const generatePassword = (random: Random): string => randomText(GENERATED_LENGTH, random)

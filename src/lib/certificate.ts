import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import { AppError, type ErrorDefinition } from './app-error.ts'

const certificateUnusable: ErrorDefinition = {
  code: 'CERTIFICATE_UNUSABLE',
  kind: 'invalid',
  message: 'The TLS certificate or its key cannot be used.',
}

/** The settings that name the files; both are empty if TLS is off. */
interface CertificateFiles {
  readonly tlsCertificateFile: string
  readonly tlsKeyFile: string
}

/** A certificate and its key, checked to belong together. */
export interface Certificate {
  /** PEM: the server's own certificate first, then its issuers'. */
  readonly chain: Buffer
  readonly privateKey: Buffer
  readonly own: X509Certificate
  readonly path: string
  readonly keyPath: string
  /** Problems that an operator should fix although the pair works. */
  readonly warnings: readonly string[]
}

/** Stricter than Node's defaults: forward secrecy always, and only ciphers that clients still need. */
export const TLS_LIMITS = {
  minVersion: 'TLSv1.2',
  ciphers:
    'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES',
} as const

/** Returns null if TLS is off. */
export function readCertificate({ tlsCertificateFile, tlsKeyFile }: CertificateFiles, now: number): Certificate | null {
  if (tlsCertificateFile === '') return null
  const path = resolve(tlsCertificateFile)
  const { content: chain } = readFile('TESLIM_TLS_CERT', path)
  const keyPath = resolve(tlsKeyFile)
  const { content: privateKey, mode } = readFile('TESLIM_TLS_KEY', keyPath)
  const own = parseCertificate(chain, path)
  const key = parseKey(privateKey, keyPath)
  if (!own.checkPrivateKey(key)) {
    throw unusable(
      `TESLIM_TLS_KEY ${keyPath} is not the key of the first certificate in TESLIM_TLS_CERT ${path}, which is ${subjectOf(own)}`,
    )
  }
  try {
    createSecureContext({ cert: chain, key: privateKey, ...TLS_LIMITS })
  } catch (error) {
    throw unusable(`TESLIM_TLS_CERT ${path} cannot be used: ${reasonOf(error)}`)
  }
  return { chain, privateKey, own, path, keyPath, warnings: warningsOf(own, keyPath, mode, now) }
}

export const subjectOf = ({ subject }: X509Certificate): string => subject?.replaceAll('\n', ', ') || '(no subject)'

const MAX_FILE_BYTES = 1_048_576

/** Reads a PEM file that `what` names in errors. */
export const readPem = (what: string, path: string): string => readFile(what, resolve(path)).content.toString('latin1')

/** Reads plain files only: a pipe would block a server that reloads. */
function readFile(variable: string, path: string): { content: Buffer; mode: number } {
  const unreadable = (why: string): AppError => unusable(`${variable} ${path} cannot be read: ${why}`)
  try {
    const stats = statSync(path)
    if (!stats.isFile()) throw unreadable('it is not a plain file')
    if (stats.size > MAX_FILE_BYTES) throw unreadable('it is larger than 1 MiB')
    return { content: readFileSync(path), mode: stats.mode }
  } catch (error) {
    throw error instanceof AppError ? error : unreadable(reasonOf(error))
  }
}

function parseCertificate(pem: Buffer, path: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch {
    throw unusable(`TESLIM_TLS_CERT ${path} holds no certificate in PEM`)
  }
}

function parseKey(pem: Buffer, path: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch {
    const encrypted = pem.includes('ENCRYPTED')
    throw unusable(
      `TESLIM_TLS_KEY ${path} ${encrypted ? 'is encrypted, and teslim knows no passphrase: store it without one' : 'holds no private key in PEM'}`,
    )
  }
}

/** Tells why clients refuse a certificate now, whatever names it has; undefined if they need not. */
export function whyNotValid({ validFrom, validTo }: X509Certificate, now: number): string | undefined {
  if (Date.parse(validTo) <= now) return `the certificate expired on ${isoDay(validTo)}`
  if (Date.parse(validFrom) > now) return `the certificate is not valid before ${isoDay(validFrom)}`
  return undefined
}

/** Tells why a certificate must not replace the current one while the server runs; undefined if it may. */
export function whyWorse(next: Certificate, current: Certificate, now: number): string | undefined {
  const lost = namesOf(current.own).filter((name) => !isFor(next.own, name))
  if (lost.length > 0) {
    return `the certificate is not for ${lost.join(', ')}, as the one in use is; restart to use it nevertheless`
  }
  if (certificatesIn(next.chain) === 1 && certificatesIn(current.chain) > 1) {
    return 'the file lacks the certificates of its issuers, which the one in use has; restart to use it nevertheless'
  }
  return whyNotValid(next.own, now)
}

const certificatesIn = (pem: Buffer): number => pem.toString('latin1').split('-----BEGIN CERTIFICATE-----').length - 1

/** Names and addresses that clients may use; those of a certificate without any are its common name. */
export function namesOf({ subjectAltName, subject }: X509Certificate): string[] {
  const names = (subjectAltName ?? '').matchAll(/(?:DNS|IP Address):([A-Za-z0-9.:*_-]+)/g)
  const found = Array.from(names, ([, name = '']) => name)
  const [, common] = /^CN=([A-Za-z0-9.*_-]+)$/m.exec(subject ?? '') ?? []
  return found.length === 0 && common !== undefined ? [common] : found
}

/** A host that a name of a certificate stands for: the name itself, unless it begins with `*`. */
export const hostOf = (name: string): string => name.replace(/^\*/, 'teslim')

export const isFor = (own: X509Certificate, name: string): boolean =>
  (isIP(name) ? own.checkIP(name) : own.checkHost(hostOf(name))) !== undefined

function warningsOf(own: X509Certificate, keyPath: string, mode: number, now: number): string[] {
  const invalid = whyNotValid(own, now)
  const warnings = invalid === undefined ? [] : [invalid]
  if (process.platform !== 'win32' && mode & 0o004) {
    warnings.push(`every user of this machine can read TESLIM_TLS_KEY ${keyPath}`)
  }
  return warnings
}

export const isoDay = (date: string): string => new Date(date).toISOString().slice(0, 10)

const reasonOf = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException
  return code ?? message
}

const unusable = (message: string): AppError => new AppError(certificateUnusable, { message })

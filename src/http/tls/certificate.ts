import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { Config } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'
import { httpErrors } from '../http.errors.ts'

/** A certificate and its key, checked to belong together. */
export interface Certificate {
  /** PEM: the server's own certificate first, then its issuers'. */
  readonly chain: Buffer
  readonly privateKey: Buffer
  readonly own: X509Certificate
  readonly path: string
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
export function readCertificate({ tlsCertificateFile, tlsKeyFile }: Config, now: number): Certificate | null {
  if (tlsCertificateFile === '') return null
  const path = resolve(tlsCertificateFile)
  const chain = readFile('TESLIM_TLS_CERT', path)
  const privateKey = readFile('TESLIM_TLS_KEY', resolve(tlsKeyFile))
  const own = parseCertificate(chain, path)
  const key = parseKey(privateKey, resolve(tlsKeyFile))
  if (!own.checkPrivateKey(key)) {
    throw unusable(
      `TESLIM_TLS_KEY ${resolve(tlsKeyFile)} is not the key of the first certificate in TESLIM_TLS_CERT ${path}, which is ${subjectOf(own)}`,
    )
  }
  try {
    createSecureContext({ cert: chain, key: privateKey, ...TLS_LIMITS })
  } catch (error) {
    throw unusable(`TESLIM_TLS_CERT ${path} cannot be used: ${reasonOf(error)}`)
  }
  return { chain, privateKey, own, path, warnings: warningsOf(own, resolve(tlsKeyFile), now) }
}

export const subjectOf = ({ subject }: X509Certificate): string => subject?.replaceAll('\n', ', ') || '(no subject)'

const LARGEST_FILE = 1_048_576

/** Reads plain files only: a pipe would block a server that reloads. */
function readFile(variable: string, path: string): Buffer {
  const unreadable = (why: string): AppError => unusable(`${variable} ${path} cannot be read: ${why}`)
  try {
    const stats = statSync(path)
    if (!stats.isFile()) throw unreadable('it is not a plain file')
    if (stats.size > LARGEST_FILE) throw unreadable('it is larger than 1 MiB')
    return readFileSync(path)
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

function warningsOf(own: X509Certificate, keyPath: string, now: number): string[] {
  const warnings: string[] = []
  if (Date.parse(own.validTo) <= now) warnings.push(`the certificate expired on ${isoDay(own.validTo)}`)
  if (Date.parse(own.validFrom) > now) warnings.push(`the certificate is not valid before ${isoDay(own.validFrom)}`)
  if (process.platform !== 'win32' && statSync(keyPath).mode & 0o004) {
    warnings.push(`every user of this machine can read TESLIM_TLS_KEY ${keyPath}`)
  }
  return warnings
}

const isoDay = (date: string): string => new Date(date).toISOString().slice(0, 10)

const reasonOf = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException
  return code ?? message
}

const unusable = (message: string): AppError => new AppError(httpErrors.certificateUnusable, { message })

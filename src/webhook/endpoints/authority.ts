import { X509Certificate } from 'node:crypto'
import { AppError } from '#src/lib/app-error.ts'
import { webhookErrors } from '../webhook.errors.ts'

const MAX_CHARACTERS = 65_536
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g

/** Returns the certificates of a text in PEM, and nothing else that stands in it, such as a private key. */
export function readAuthority(pem: string): string {
  const found = pem.length > MAX_CHARACTERS ? [] : (pem.match(CERTIFICATE) ?? [])
  if (found.length === 0 || !found.every(isCertificate)) throw new AppError(webhookErrors.authorityInvalid)
  return `${found.join('\n')}\n`
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0
  } catch {
    return false
  }
}

import type { Config } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'
import { type Certificate, namesOf, readCertificate, whyNotValid } from '#src/lib/certificate.ts'
import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import { type Check, failed, ok, warning } from './checks.ts'

const NAME = 'certificate'
const SOON_MILLISECONDS = 14 * DAY_MILLISECONDS

/** Checks the certificate as a server would that starts now. */
export function checkCertificate(config: Config, now: number): Check[] {
  let certificate: Certificate | null
  try {
    certificate = readCertificate(config, now)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return [failed(NAME, 'CERTIFICATE_FAILED', { reason: error.text })]
  }
  if (certificate === null) return []
  const { own, path } = certificate
  const reason = whyNotValid(own, now)
  if (reason !== undefined) return [failed(NAME, 'CERTIFICATE_REFUSED', { path, reason })]
  const validTo = new Date(own.validTo)
  const values = { path, names: namesOf(own), on: validTo.toISOString() }
  const isSoon = validTo.getTime() - now < SOON_MILLISECONDS
  return [isSoon ? warning(NAME, 'CERTIFICATE_EXPIRES_SOON', values) : ok(NAME, 'CERTIFICATE_SOUND', values)]
}

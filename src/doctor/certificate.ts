import type { Config } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'
import { type Certificate, isoDay, namesOf, readCertificate, whyNotValid } from '#src/lib/certificate.ts'
import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import type { Check } from './checks.ts'

const SOON_MILLISECONDS = 14 * DAY_MILLISECONDS

/** Checks the certificate as a server would that starts now. */
export function checkCertificate(config: Config, now: number): Check[] {
  const check = (status: Check['status'], message: string): Check[] => [{ name: 'certificate', status, message }]
  let certificate: Certificate | null
  try {
    certificate = readCertificate(config, now)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return check('failed', error.message)
  }
  if (certificate === null) return []
  const { own, path } = certificate
  const invalid = whyNotValid(own, now)
  if (invalid !== undefined)
    return check('failed', `${path}: ${invalid}, so clients refuse it: replace it, then SIGHUP`)
  const until = `${path}, for ${namesOf(own).join(', ')}, expires on ${isoDay(own.validTo)}`
  return Date.parse(own.validTo) - now < SOON_MILLISECONDS
    ? check('warning', `${until}: replace it, then send the server SIGHUP`)
    : check('ok', until)
}

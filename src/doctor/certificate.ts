import type { Config } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'
import { type Certificate, isoDay, namesOf, readCertificate, whyNotValid } from '#src/lib/certificate.ts'
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
    return [failed(NAME, error.message)]
  }
  if (certificate === null) return []
  const { own, path } = certificate
  const invalid = whyNotValid(own, now)
  if (invalid !== undefined) return [failed(NAME, `${path}: ${invalid}, so clients refuse it: replace it, then SIGHUP`)]
  const until = `${path}, for ${namesOf(own).join(', ')}, expires on ${isoDay(own.validTo)}`
  const isSoon = Date.parse(own.validTo) - now < SOON_MILLISECONDS
  return [isSoon ? warning(NAME, `${until}: replace it, then send the server SIGHUP`) : ok(NAME, until)]
}

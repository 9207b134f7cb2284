import { refusal } from '#src/lib/app-error.ts'

export const signingKeyErrors = {
  /** The reason is for operators only. */
  cannotOpen: refusal('SIGNING_KEY_CANNOT_OPEN', 'unavailable'),
  secretMissing: refusal('SECRET_MISSING', 'invalid'),
  changedMeanwhile: refusal('SIGNING_KEY_CHANGED', 'conflict'),
}

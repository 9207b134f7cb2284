import { refusal } from '#src/lib/app-error.ts'

export const sessionErrors = {
  needsTls: refusal('SESSION_NEEDS_TLS', 'forbidden'),
  otherPage: refusal('REQUEST_OF_OTHER_PAGE', 'forbidden'),
  ended: refusal('SESSION_ENDED', 'unauthenticated'),
}

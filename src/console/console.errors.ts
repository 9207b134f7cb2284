import { refusal } from '#src/lib/app-error.ts'

export const consoleErrors = {
  full: refusal('CONSOLES_FULL', 'unavailable'),
}

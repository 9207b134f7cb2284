import { parseSilence, SILENCE_ALLOWED } from '#src/lib/duration.ts'
import { setting } from './setting-kinds.ts'

/** Kept as it is written: `parseSilence` reads it. */
export const silence = setting('TESLIM_SILENCE', {
  default: 'off',
  allowed: SILENCE_ALLOWED,
  description:
    'A supplier whose keys were not used for so long is silent: log, `doctor`, console and metrics say so. `customer set --silence` has another time for one of them.',
  read: (written) => (parseSilence(written) === undefined ? undefined : written),
})

import type { KeyLimits } from '#src/customer/api-key.rule.ts'
import type { Input, Option } from '../command.ts'
import { readWhole } from '../input/number.ts'

const ANYWHERE = 'anywhere'
export const NONE = 'none'
/** As TESLIM_RATE_LIMIT. */
const MAX_RATE = 1_000_000

export const limitOptions = {
  from: {
    value: 'NETWORKS',
    multiple: true,
    about: `Only from these networks, joined by commas: 203.0.113.0/24,2001:db8::/32; ${ANYWHERE} is no limit`,
  },
  rate: {
    value: 'NUMBER',
    about: `Deliveries a minute; 0 is no limit, ${NONE} is that of the server (TESLIM_RATE_LIMIT)`,
  },
} as const satisfies Record<string, Option>

/** Reads what was given of `limitOptions`. The rule checks the networks. */
export function readLimits(input: Input): KeyLimits {
  const from = input.texts('from')
  const networks = from.flatMap((text) => text.split(',')).map((text) => text.trim())
  const rate = input.text('rate')
  return {
    ...(from.length > 0 && { networks: networks.join() === ANYWHERE ? null : networks }),
    ...(rate !== undefined && {
      rateLimit: rate === NONE ? null : readWhole(input, 'rate', 0, MAX_RATE, `, or ${NONE}`),
    }),
  }
}

import { nameOf } from '../../lib/customers.tsx'
import { STATUSES } from '../../lib/foreign.tsx'
import { seesPayloads } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'
import type { FilterField } from '../filters.tsx'

/** An id that people do not know by heart is shortened. */
const shortId = (id: string) => (id.length > SHORT ? `${id.slice(0, SHORT)}…` : id)
const SHORT = 13

const all = (): FilterField[] => [
  { name: 'customer', label: () => t('word.customer'), kind: 'text', shown: (id) => nameOf(id) ?? id },
  { name: 'orderId', label: () => t('word.order'), kind: 'text' },
  { name: 'product', label: () => t('deliveries.product'), kind: 'text' },
  {
    name: 'status',
    label: () => t('word.status'),
    kind: 'choice',
    choices: STATUSES.map((status) => [String(status), `${status} · ${t(`status.${status}`)}`]),
  },
  { name: 'key', label: () => t('word.apiKey'), kind: 'text', shown: shortId },
  { name: 'address', label: () => t('word.address'), kind: 'text' },
  { name: 'from', label: () => t('word.from'), kind: 'time' },
  { name: 'to', label: () => t('filters.to'), kind: 'time' },
  { name: 'receipt', label: () => t('word.receipt'), kind: 'text', shown: shortId },
  {
    name: 'duplicate',
    label: () => t('deliveries.echoes'),
    kind: 'choice',
    choices: [
      ['true', t('deliveries.onlyEchoes')],
      ['false', t('deliveries.noEchoes')],
    ],
  },
]

/** The filters of deliveries and orders with these names, for `Filters`. Products are found in payloads. */
export const deliveryFields = (names: readonly string[]): FilterField[] =>
  all().filter(({ name }) => names.includes(name) && (name !== 'product' || seesPayloads.value))

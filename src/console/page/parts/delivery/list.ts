import { STATUSES } from '../../lib/foreign.tsx'
import { seesPayloads } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'

const all = () => [
  { name: 'customer', label: () => t('word.customer'), kind: 'text' },
  { name: 'orderId', label: () => t('word.order'), kind: 'text' },
  { name: 'product', label: () => t('deliveries.product'), kind: 'text' },
  {
    name: 'status',
    label: () => t('word.status'),
    kind: 'choice',
    choices: STATUSES.map((status) => [String(status), `${status} · ${t(`status.${status}`)}`]),
  },
  { name: 'key', label: () => t('word.apiKey'), kind: 'text' },
  { name: 'address', label: () => t('word.address'), kind: 'text' },
  { name: 'from', label: () => t('word.from'), kind: 'time' },
  { name: 'to', label: () => t('filters.to'), kind: 'time' },
  { name: 'receipt', label: () => t('word.receipt'), kind: 'text' },
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
export const deliveryFields = (names) =>
  all().filter(({ name }) => names.includes(name) && (name !== 'product' || seesPayloads.value))

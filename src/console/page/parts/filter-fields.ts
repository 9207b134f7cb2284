import { ACTIONS } from '#src/audit/action-names.ts'
import { nameOf } from '../lib/customers.tsx'
import { STATUSES, statusText } from '../lib/foreign.tsx'
import { seesPayloads } from '../lib/session.ts'
import { named, type TextKey, t } from '../lib/texts.ts'
import type { FilterField } from './filters.tsx'

const SHORT = 13
/** An id that people do not know by heart is shortened. */
const shortId = (id: string) => (id.length > SHORT ? `${id.slice(0, SHORT)}…` : id)

export const textField = (name: string, label: TextKey, shown?: FilterField['shown']): FilterField => ({
  name,
  label: t(label),
  kind: 'text',
  ...(shown && { shown }),
})

const timeField = (name: string, label: TextKey): FilterField => ({ name, label: t(label), kind: 'time' })

export const choiceField = (
  name: string,
  label: TextKey,
  choices: NonNullable<FilterField['choices']>,
): FilterField => ({ name, label: t(label), kind: 'choice', choices })

/** In the order in which a list offers them. */
const all = () => [
  textField('customer', 'word.customer', nameOf),
  choiceField(
    'action',
    'audit.action',
    ACTIONS.map((action) => [action, named('audit', action)]),
  ),
  textField('code', 'word.errorCode'),
  textField('orderId', 'word.order'),
  textField('product', 'deliveries.product'),
  choiceField(
    'status',
    'word.status',
    STATUSES.map((status) => [String(status), `${status} · ${statusText(status)}`]),
  ),
  textField('requestId', 'word.request'),
  textField('keyId', 'word.key'),
  textField('key', 'word.apiKey', shortId),
  textField('address', 'word.address'),
  timeField('from', 'word.from'),
  timeField('to', 'filters.to'),
  textField('receipt', 'word.receipt', shortId),
  choiceField('duplicate', 'deliveries.echoes', [
    ['true', t('deliveries.onlyEchoes')],
    ['false', t('deliveries.noEchoes')],
  ]),
]

/** The filters with these names. Products are found in payloads. */
export const fieldsOf = (names: readonly string[]): FilterField[] =>
  all().filter(({ name }) => names.includes(name) && (name !== 'product' || seesPayloads.value))

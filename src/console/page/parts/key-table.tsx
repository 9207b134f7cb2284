import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import type { Customer } from '../lib/customers.tsx'
import { foreign } from '../lib/foreign.tsx'
import { dateTime, day } from '../lib/format.ts'
import { href } from '../lib/route.ts'
import { mayRead, mayWrite } from '../lib/session.ts'
import { t } from '../lib/texts.ts'
import { Copy } from './copy.tsx'
import { type ApiKey, labelOf, revokeKey, revokeSeveral, rotateKey } from './key-dialogs.tsx'
import { Chosen, Pick } from './several.tsx'
import { type ShortColumn, ShortTable } from './short-table.tsx'
import { Ago } from './words.tsx'

/** Tells buttons with the same text apart. */
export const hidden = (name: string) => <span class="visually-hidden"> {name}</span>

interface KeyTableProperties {
  readonly customer: Customer
  readonly keys: readonly ApiKey[]
  /** The id of the key that somebody looks for. */
  readonly marked: string | undefined
  readonly reload: () => void
}

const isLive = ({ State }: ApiKey): boolean => State === 'live'

/** Live ones first, then the newest. */
const inOrder = (one: ApiKey, other: ApiKey): number =>
  Number(isLive(other)) - Number(isLive(one)) || other.CreatedAt.localeCompare(one.CreatedAt)

/** Keeps each key where it was shown first: none moves when its state changes. New ones come first. */
function useOrder(keys: readonly ApiKey[]): readonly ApiKey[] {
  const ids = useRef<readonly string[]>([])
  const placeOf = ({ KeyID }: ApiKey) => ids.current.indexOf(KeyID)
  const known = keys.filter((key) => placeOf(key) >= 0).toSorted((one, other) => placeOf(one) - placeOf(other))
  const shown = [...keys.filter((key) => placeOf(key) < 0).toSorted(inOrder), ...known]
  ids.current = shown.map(({ KeyID }) => KeyID)
  return shown
}

export function KeyTable({ customer, keys, marked, reload }: KeyTableProperties) {
  const shown = useOrder(keys)
  const chosen = useSignal<readonly ApiKey[]>([])
  const done = () => {
    chosen.value = []
    reload()
  }
  const columns: readonly (ShortColumn<ApiKey> | false)[] = [
    mayWrite.value && {
      cell: (key) => isLive(key) && <Pick item={key} chosen={chosen} name={`${labelOf(key)} ${key.KeyID}`} />,
    },
    ...COLUMNS,
    { look: 'row-actions', cell: (key) => <RowActions customer={customer} apiKey={key} reload={reload} /> },
  ]
  return (
    <>
      <Chosen chosen={chosen}>
        <button class="danger" onClick={() => revokeSeveral(customer, chosen.value, done)}>
          {t('action.revoke.verb')}
        </button>
      </Chosen>
      <ShortTable
        label={t('customer.keys')}
        look="key-table"
        columns={columns}
        rows={shown}
        keyOf={({ KeyID }) => KeyID}
        marked={marked}
      />
    </>
  )
}

const COLUMNS: readonly ShortColumn<ApiKey>[] = [
  {
    title: 'word.key',
    isHead: true,
    cell: (key) => (
      <>
        <span title={key.KeyID}>{foreign(labelOf(key))}</span> <Copy text={key.KeyID} name={t('key.id')} />
      </>
    ),
  },
  {
    title: 'word.state',
    cell: ({ State, ExpiresSoon, SuccessorID }) => {
      const look = State === 'live' ? (ExpiresSoon ? 'warning' : 'good') : 'failed'
      return (
        <>
          <span class={`badge ${look}`}>{t(`key.state.${look === 'warning' ? 'soon' : State}`)}</span>
          {SuccessorID && <small class="below">{t('key.rotated')}</small>}
        </>
      )
    },
  },
  { title: 'key.created', cell: ({ CreatedAt }) => day(CreatedAt) },
  {
    title: 'word.lastUsed',
    cell: ({ LastUse }) => (
      <>
        <Ago at={LastUse?.UsedAt ?? null} />
        {LastUse?.Address && <code class="below">{LastUse.Address}</code>}
      </>
    ),
  },
  {
    title: 'word.expiresAt',
    cell: ({ ExpiresAt }) => (ExpiresAt ? <span title={dateTime(ExpiresAt)}>{day(ExpiresAt)}</span> : t('key.forever')),
  },
  {
    title: 'key.limits',
    cell: ({ Networks, RateLimit }) => (
      <>
        {Networks ? <code>{Networks.join(' ')}</code> : t('key.anywhere')}
        <br />
        {RateLimit ? t('key.perMinute', { value: RateLimit }) : t('key.noLimit')}
      </>
    ),
  },
]

interface OfKey {
  readonly customer: Customer
  readonly apiKey: ApiKey
  readonly reload: () => void
}

function RowActions({ customer, apiKey, reload }: OfKey) {
  const { KeyID, Label } = apiKey
  const name = hidden(Label || KeyID)
  return (
    <>
      {mayWrite.value && isLive(apiKey) && (
        <>
          {apiKey.SuccessorID === null && (
            <button class="small" onClick={() => rotateKey(customer, apiKey, reload)}>
              {t('action.rotate.short')}
              {name}
            </button>
          )}{' '}
          <button class="small danger" onClick={() => revokeKey(customer, apiKey, reload)}>
            {t('action.revoke.short')}
            {name}
          </button>{' '}
        </>
      )}
      <a href={href('deliveries', [], { key: KeyID })}>
        {t('key.deliveries')}
        {name}
      </a>{' '}
      {mayRead.value && (
        <a href={href('audit', [], { keyId: KeyID })}>
          {t('word.audit')}
          {name}
        </a>
      )}
    </>
  )
}

import { useSignal } from '@preact/signals'
import { type ComponentChildren, Fragment } from 'preact'
import { useRef } from 'preact/hooks'
import { foreign } from '../lib/foreign.tsx'
import { dateTime, day, whole } from '../lib/format.ts'
import { href } from '../lib/route.ts'
import { mayRead, mayWrite } from '../lib/session.ts'
import { t } from '../lib/texts.ts'
import type { Customer } from './action-dialogs.tsx'
import { type ApiKey, labelOf, revokeKey, revokeSeveral, rotateKey } from './key-dialogs.tsx'
import { Chosen, Pick } from './several.tsx'
import { Ago, Copy } from './words.tsx'

/** Tells buttons with the same text apart. */
export const hidden = (name: string) => <span class="visually-hidden"> {name}</span>

const COLUMNS = ['word.key', 'word.state', 'key.created', 'word.lastUsed', 'word.expiresAt', 'key.limits'] as const

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

/** The keys of a customer. */
export function KeyTable({ customer, keys, marked, reload }: KeyTableProperties) {
  const shown = useOrder(keys)
  const chosen = useSignal<readonly ApiKey[]>([])
  const done = () => {
    chosen.value = []
    reload()
  }
  return (
    <>
      <Chosen chosen={chosen}>
        <button class="danger" onClick={() => revokeSeveral(customer, chosen.value, done)}>
          {t('action.revoke.verb')}
        </button>
      </Chosen>
      <div class="table" tabindex={0} role="region" aria-label={t('customer.keys')}>
        <table class="key-table">
          <thead>
            <tr>
              {mayWrite.value && <td></td>}
              {COLUMNS.map((name) => (
                <th key={name} scope="col">
                  {t(name)}
                </th>
              ))}
              <td></td>
            </tr>
          </thead>
          <tbody>
            {shown.map((key) => (
              <Row key={key.KeyID} customer={customer} apiKey={key} isMarked={key.KeyID === marked} reload={reload}>
                {isLive(key) && <Pick item={key} chosen={chosen} name={`${labelOf(key)} ${key.KeyID}`} />}
              </Row>
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}

interface OfKey {
  readonly customer: Customer
  readonly apiKey: ApiKey
  readonly reload: () => void
}

interface RowProperties extends OfKey {
  readonly isMarked: boolean
  /** The check box. */
  readonly children: ComponentChildren
}

function Row({ customer, apiKey, isMarked, reload, children }: RowProperties) {
  const { KeyID, Label, State, CreatedAt, ExpiresAt, LastUse, Networks, RateLimit } = apiKey
  return (
    <tr class={isMarked ? 'marked' : undefined}>
      {mayWrite.value && <td>{children}</td>}
      <th scope="row">
        <span title={KeyID}>{foreign(labelOf(apiKey))}</span> <Copy text={KeyID} name={t('key.id')} />
      </th>
      <td>
        <KeyState apiKey={apiKey} />
      </td>
      <td>{day(CreatedAt)}</td>
      <td>
        {LastUse ? (
          <>
            <Ago at={LastUse.UsedAt} />
            {LastUse.Address && (
              <>
                <br />
                <code>{LastUse.Address}</code>
              </>
            )}
          </>
        ) : (
          t('word.never')
        )}
      </td>
      <td>{ExpiresAt ? <span title={dateTime(ExpiresAt)}>{day(ExpiresAt)}</span> : t('key.forever')}</td>
      <td>
        {Networks
          ? Networks.map((network) => (
              <Fragment key={network}>
                <code>{network}</code>{' '}
              </Fragment>
            ))
          : t('key.anywhere')}
        <br />
        {RateLimit ? t('key.perMinute', { value: whole(RateLimit) }) : t('key.noLimit')}
      </td>
      <td class="row-actions">
        {mayWrite.value && State === 'live' && <RowActions customer={customer} apiKey={apiKey} reload={reload} />}
        <a href={href('deliveries', [], { key: KeyID })}>
          {t('key.deliveries')}
          {hidden(Label || KeyID)}
        </a>{' '}
        {mayRead.value && (
          <a href={href('audit', [], { keyId: KeyID })}>
            {t('word.audit')}
            {hidden(Label || KeyID)}
          </a>
        )}
      </td>
    </tr>
  )
}

function KeyState({ apiKey: { State, ExpiresSoon, SuccessorID } }: { readonly apiKey: ApiKey }) {
  const look = State === 'live' ? (ExpiresSoon ? 'warning' : 'good') : 'failed'
  return (
    <>
      <span class={`badge ${look}`}>{t(`key.state.${State === 'live' && ExpiresSoon ? 'soon' : State}`)}</span>
      {SuccessorID && (
        <>
          <br />
          <small>{t('key.rotated')}</small>
        </>
      )}
    </>
  )
}

const RowActions = ({ customer, apiKey, reload }: OfKey) => (
  <>
    {apiKey.SuccessorID === null && (
      <button class="small" onClick={() => rotateKey(customer, apiKey, reload)}>
        {t('action.rotate.short')}
        {hidden(apiKey.Label || apiKey.KeyID)}
      </button>
    )}{' '}
    <button class="small danger" onClick={() => revokeKey(customer, apiKey, reload)}>
      {t('action.revoke.short')}
      {hidden(apiKey.Label || apiKey.KeyID)}
    </button>{' '}
  </>
)

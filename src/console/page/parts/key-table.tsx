import { Fragment } from 'preact'
import { foreign } from '../lib/foreign.tsx'
import { ago, dateTime, day, whole } from '../lib/format.ts'
import { href } from '../lib/route.ts'
import { mayRead, mayWrite } from '../lib/session.ts'
import { t } from '../lib/texts.ts'
import { revokeKey, rotateKey } from './key-dialogs.tsx'

/** Tells buttons with the same text apart. */
export const hidden = (name) => <span class="visually-hidden"> {name}</span>

const COLUMNS = ['word.key', 'word.state', 'key.created', 'word.lastUsed', 'word.expiresAt', 'key.limits'] as const

/** The keys of a customer: live ones first, then the newest. */
export function KeyTable({ customer, keys, marked, reload }) {
  const live = ({ State }) => State === 'live'
  const newest = (one, other) => other.CreatedAt.localeCompare(one.CreatedAt)
  const shown = keys.toSorted((one, other) => live(other) - live(one) || newest(one, other))
  return (
    <div class="table" tabindex="0" role="region" aria-label={t('customer.keys')}>
      <table class="key-table">
        <thead>
          <tr>
            {COLUMNS.map((name) => (
              <th scope="col">{t(name)}</th>
            ))}
            <td></td>
          </tr>
        </thead>
        <tbody>
          {shown.map((key) => (
            <Row key={key.KeyID} customer={customer} apiKey={key} marked={key.KeyID === marked} reload={reload} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Row({ customer, apiKey, marked, reload }) {
  const { KeyID, Label, State, CreatedAt, ExpiresAt, LastUse, Networks, RateLimit } = apiKey
  return (
    <tr class={marked ? 'marked' : undefined}>
      <th scope="row">
        {foreign(Label || t('key.noLabel'))}
        <br />
        <code>{KeyID}</code>
      </th>
      <td>
        <KeyState apiKey={apiKey} />
      </td>
      <td>{day(CreatedAt)}</td>
      <td>
        {LastUse ? (
          <>
            <span title={dateTime(LastUse.UsedAt)}>{ago(LastUse.UsedAt)}</span>
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

function KeyState({ apiKey: { State, ExpiresSoon, SuccessorID } }) {
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

const RowActions = ({ customer, apiKey, reload }) => (
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

import type { Static } from '@sinclair/typebox'
import type { RefusalSchema } from '#src/purchase/refusals/refusals.schema.ts'
import { getBytes } from '../lib/api.ts'
import { foreign } from '../lib/foreign.tsx'
import { bytes, preciseTime } from '../lib/format.ts'
import { messageText } from '../lib/messages.ts'
import { href } from '../lib/route.ts'
import { seesPayloads } from '../lib/session.ts'
import { settings } from '../lib/settings.ts'
import { hasText, t } from '../lib/texts.ts'
import { useQuery } from '../lib/use-query.ts'
import { PayloadText } from './delivery/payload.tsx'
import { Loaded } from './problem.tsx'
import { AuditLink, CustomerLink, type FactList, Facts, More, OrderLink } from './words.tsx'

export type Refusal = Static<typeof RefusalSchema>
type Told = Pick<Refusal, 'Message' | 'MessageCode' | 'MessageValues' | 'Reason' | 'ReasonCode' | 'ReasonValues'>

/** What the supplier was told. */
const messageOf = ({ Message, MessageCode: code, MessageValues: values }: Told): string =>
  code === undefined ? Message : messageText({ code, values }, Message)

/** What only operators know, such as whether a key was revoked. */
const reasonOf = ({ Reason, ReasonCode: code = '', ReasonValues: values }: Told): string | undefined =>
  Reason && messageText({ code, values }, Reason)

export function whyRefused(refusal: Told): string {
  const reason = reasonOf(refusal)
  return reason ? `${messageOf(refusal)} (${reason})` : messageOf(refusal)
}

export function whatToDo(code: string): string {
  const key = `refusal.do.${code.startsWith('TOKEN_') ? 'TOKEN' : code}`
  return t(hasText(key) ? key : 'refusal.do.anything', { limit: settings.bodyLimitBytes })
}

export function RefusalDetail({ refusal }: { readonly refusal: Refusal }) {
  const { RefusedAt, ErrorCode, CustomerID, Customer, OrderID, RequestID, KeyID, KeyLabel, PayloadBytes } = refusal
  const reason = reasonOf(refusal)
  const facts: FactList = [
    [t('refusals.at'), preciseTime(RefusedAt)],
    [t('word.reason'), reason && foreign(reason)],
    [t('word.customer'), <CustomerLink id={CustomerID} name={Customer} />],
    OrderID !== undefined && [t('word.order'), <OrderLink customer={CustomerID} order={OrderID} />],
    KeyID !== undefined && [
      t('word.key'),
      <a href={href('customer', [CustomerID], { key: KeyID })}>{foreign(KeyLabel || KeyID)}</a>,
    ],
  ]
  const ids: FactList = [
    [
      t('word.request'),
      <AuditLink of={{ requestId: RequestID }}>
        <code>{RequestID}</code>
      </AuditLink>,
      RequestID,
    ],
    [t('refusals.id'), <code>{refusal.RefusalID}</code>, refusal.RefusalID],
  ]
  return (
    <>
      <p>{foreign(messageOf(refusal))}</p>
      <p class="note">{whatToDo(ErrorCode)}</p>
      <Facts facts={facts} />
      <More facts={ids} />
      <h2>
        {t('refusals.body')}
        {PayloadBytes !== undefined && (
          <>
            {' '}
            <small>{bytes(PayloadBytes)}</small>
          </>
        )}
      </h2>
      {PayloadBytes === undefined ? (
        <p class="empty">{t('refusals.notKept')}</p>
      ) : seesPayloads.value ? (
        <Body id={refusal.RefusalID} />
      ) : (
        <p class="empty">{t('detail.noPayload')}</p>
      )}
    </>
  )
}

function Body({ id }: { readonly id: string }) {
  const path = `/Purchase/refusal/${encodeURIComponent(id)}/payload`
  const read = useQuery((signal) => getBytes(path, signal), [path])
  return <Loaded read={read}>{({ bytes }) => <PayloadText text={new TextDecoder().decode(bytes)} />}</Loaded>
}

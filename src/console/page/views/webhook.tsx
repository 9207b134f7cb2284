import { useState } from 'preact/hooks'
import { get } from '../lib/api.ts'
import { foreign, statusBadge } from '../lib/foreign.tsx'
import { dateTime, duration, whole } from '../lib/format.ts'
import { printing } from '../lib/printing.ts'
import { href } from '../lib/route.ts'
import { mayWrite } from '../lib/session.ts'
import { t } from '../lib/texts.ts'
import { useQuery } from '../lib/use-query.ts'
import { CopyButton } from '../parts/export.tsx'
import { Problem } from '../parts/problem.tsx'
import { changeEndpoint, removeEndpoint, rotateSecret, testEndpoint } from '../parts/webhooks/actions.tsx'
import { Attempts, Counts, DeliveryLink } from '../parts/webhooks/attempts.tsx'
import { Replay, replay, replayThese } from '../parts/webhooks/replay.tsx'
import { Told } from '../parts/webhooks/told.tsx'
import { behind, nextTry, pathOf, pending, StateBadge, when } from '../parts/webhooks/words.tsx'
import { CustomerLink, Facts, OnlyRead } from '../parts/words.tsx'

async function read(id, signal) {
  const [shown, attempts] = await Promise.all([
    get(pathOf(id), {}, { signal }),
    get(pathOf(id, 'attempts'), {}, { signal }),
  ])
  return { ...shown, ...attempts }
}

export function WebhookView({ parts: [id = ''], parameters }) {
  const { data, error, reload } = useQuery((signal) => read(id, signal), [id], { isFresh: true })
  const all = (
    <p class="back">
      <a href={href('webhooks')}>{t('webhook.all')}</a>
    </p>
  )
  // Another operator may have removed it.
  if (data === undefined || error?.code === 'WEBHOOK_NOT_FOUND') {
    return (
      <>
        {all}
        <h1>{t('word.webhook')}</h1>
        {error ? <Problem error={error} again={reload} /> : <div class="skeleton tall" aria-busy="true"></div>}
      </>
    )
  }
  return (
    <>
      {all}
      <h1>
        <span class="name">{foreign(data.Endpoint.URL)}</span> <StateBadge endpoint={data.Endpoint} />
      </h1>
      {error && <Problem error={error} again={reload} />}
      <Endpoint data={data} parameters={parameters} reload={reload} />
    </>
  )
}

function Endpoint({
  data: { Endpoint: endpoint, Failing, SetAside, Attempts: attempts, Minutes },
  parameters,
  reload,
}) {
  const [again, setAgain] = useState()
  const done = (text) => {
    setAgain(text)
    return reload()
  }
  return (
    <>
      <Attention endpoint={endpoint} />
      <Actions endpoint={endpoint} reload={reload} done={done} />
      <p role="status" class="said">
        {again}
      </p>
      <section>
        <h2>{t('webhook.progress')}</h2>
        <Progress endpoint={endpoint} />
      </section>
      {endpoint.Replay && <Replay endpoint={endpoint} done={done} />}
      <section>
        <h2>{t('webhook.attempts')}</h2>
        <Counts minutes={Minutes} range={parameters.range} />
      </section>
      {Failing.length > 0 && (
        <Waiting kind="failing" deliveries={Failing} total={endpoint.Failing} endpoint={endpoint} done={done} />
      )}
      {SetAside.length > 0 && (
        <Waiting kind="aside" deliveries={SetAside} total={endpoint.SetAside} endpoint={endpoint} done={done} />
      )}
      <section>
        <h2>{t('webhook.attempts.failures')}</h2>
        <Attempts attempts={attempts} />
      </section>
      <section>
        <h2>{t('webhook.told')}</h2>
        <Told endpoint={endpoint} parameters={parameters} />
      </section>
      <section>
        <h2>{t('word.settings')}</h2>
        <Settings endpoint={endpoint} />
      </section>
    </>
  )
}

function Attention({ endpoint: { State, PausedReason, PausedAt } }) {
  if (State !== 'paused') return null
  const since = t('webhook.paused.since', { at: dateTime(PausedAt) })
  return (
    <p class="attention">
      <b>{since}</b> {t(`webhook.paused.do.${PausedReason}`)}
    </p>
  )
}

function Actions({ endpoint, reload, done }) {
  if (!mayWrite.value) return <OnlyRead />
  const toggle = endpoint.State === 'paused' ? 'resume' : 'pause'
  return (
    <p class="buttons">
      <button onClick={() => changeEndpoint(toggle, endpoint, reload)}>{t(`webhook.${toggle}.verb`)}</button>
      <button onClick={() => testEndpoint(endpoint, reload)}>{t('webhook.test.verb')}</button>
      <button onClick={() => replay(endpoint, done)}>{t('webhook.replay.open')}</button>
      <button onClick={() => rotateSecret(endpoint, reload)}>{t('webhook.rotate.verb')}</button>
      <button class="danger" onClick={() => removeEndpoint(endpoint)}>
        {t('word.remove')}
      </button>
    </p>
  )
}

function Progress({ endpoint }) {
  const { Waiting: waiting, Failing, SetAside, PurgedUnsent, LastSuccessAt, FailingSince, NextTryAt } = endpoint
  const warned = (number) => (number === 0 ? whole(0) : <b class="warning">{whole(number)}</b>)
  return (
    <Facts
      facts={[
        [t('webhook.pending'), pending(endpoint)],
        [t('webhook.behind'), behind(endpoint)],
        [t('webhook.waiting'), t('webhook.waiting.failed', { waiting: whole(waiting), failing: whole(Failing) })],
        [t('webhook.setAside'), warned(SetAside)],
        [t('webhook.purged'), PurgedUnsent > 0 && warned(PurgedUnsent)],
        [t('webhook.lastSuccess'), when(LastSuccessAt) ?? t('word.never')],
        [t('webhook.failingSince'), FailingSince && <span class="failed">{when(FailingSince)}</span>],
        [t('webhook.attempt.next'), nextTry(NextTryAt)],
      ]}
    />
  )
}

function Settings({ endpoint }) {
  const { EndpointID, CustomerID, Statuses, Duplicates, GiveUp, HasCA, Headers, CreatedAt, Cursor } = endpoint
  const statuses = Statuses?.map((status) => <span key={status}>{statusBadge(status)} </span>)
  return (
    <Facts
      facts={[
        [t('word.customer'), CustomerID ? <CustomerLink id={CustomerID} /> : t('webhook.customer.all')],
        [t('word.status'), statuses ?? t('word.any')],
        [t('word.duplicates'), t(`webhook.duplicates.${Duplicates}`)],
        [t('webhook.giveUp'), GiveUp === null ? t('webhook.giveUp.never') : duration(GiveUp)],
        [t('word.ca'), HasCA && t('webhook.ca.own')],
        [t('webhook.headers'), Headers.length > 0 && foreign(Headers.join(', '))],
        [t('word.added'), dateTime(CreatedAt)],
        [t('webhook.id'), <code>{EndpointID}</code>],
        [
          t('word.cursor'),
          <>
            <code class="cursor">{Cursor}</code> <CopyButton text={Cursor} label={t('word.copy')} />
          </>,
        ],
      ]}
    />
  )
}

/** What an answer has at most. */
const MAX_SHOWN = 100
const FIRST = 10

/** Deliveries that fail (`failing`), or that are not tried again (`aside`). */
function Waiting({ kind, deliveries, total, endpoint, done }) {
  const [all, setAll] = useState(false)
  const aside = kind === 'aside'
  const shown = all || printing.value ? deliveries : deliveries.slice(0, FIRST)
  return (
    <section>
      <h2>{t(`webhook.${kind}.title`)}</h2>
      <p class="note">
        {t(`webhook.${kind}.about`)}{' '}
        {deliveries.length >= MAX_SHOWN && t('webhook.first', { count: whole(deliveries.length), total: whole(total) })}
      </p>
      <div class="table" tabindex="0" role="region" aria-label={t(`webhook.${kind}.title`)}>
        <table class="waiting">
          <thead>
            <tr>
              <th scope="col">{t('word.delivery')}</th>
              <th scope="col" class="number">
                {t('webhook.failures')}
              </th>
              <th scope="col">{t('webhook.firstFailed')}</th>
              <th scope="col">{t('word.error')}</th>
              <th scope="col">{t(aside ? 'word.set-aside' : 'webhook.attempt.next')}</th>
              {mayWrite.value && <td></td>}
            </tr>
          </thead>
          <tbody>
            {shown.map((delivery) => (
              <Delivery
                key={`${delivery.ReceiptID} ${delivery.FirstFailedAt}`}
                delivery={delivery}
                endpoint={endpoint}
                done={done}
              />
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < deliveries.length && (
        <p>
          <button onClick={() => setAll(true)}>{t('webhook.showAll', { count: whole(deliveries.length) })}</button>
        </p>
      )}
      {aside && mayWrite.value && (
        <p>
          <button onClick={() => replayThese(endpoint, undefined, done)}>{t('webhook.replay.aside')}</button>
        </p>
      )}
    </section>
  )
}

const Delivery = ({ delivery, endpoint, done }) => {
  const { ReceiptID, Failures, FirstFailedAt, Error: error, NextTryAt, SetAsideAt } = delivery
  return (
    <tr>
      <td>
        <DeliveryLink receipt={ReceiptID} />
      </td>
      <td class="number">{whole(Failures)}</td>
      <td>{when(FirstFailedAt)}</td>
      <td class="why">{error !== null && foreign(error)}</td>
      <td>
        {when(SetAsideAt) ??
          nextTry(NextTryAt) ??
          t(endpoint.State === 'paused' ? 'word.paused' : 'webhook.waitsForOthers')}
      </td>
      {mayWrite.value && (
        <td class="row-actions">
          {ReceiptID && (
            <button class="small" onClick={() => replayThese(endpoint, ReceiptID, done)}>
              {t('word.sendAgain')}
              <span class="visually-hidden"> {ReceiptID}</span>
            </button>
          )}
        </td>
      )}
    </tr>
  )
}

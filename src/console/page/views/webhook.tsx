import { useState } from 'preact/hooks'
import { get } from '../lib/api.ts'
import { foreign, statusBadge } from '../lib/foreign.tsx'
import { dateTime, duration, whole } from '../lib/format.ts'
import { href, type ViewProps } from '../lib/route.ts'
import { mayWrite } from '../lib/session.ts'
import { t } from '../lib/texts.ts'
import { useQuery } from '../lib/use-query.ts'
import { Loaded } from '../parts/problem.tsx'
import { changeEndpoint, removeEndpoint, rotateSecret, testEndpoint } from '../parts/webhooks/actions.tsx'
import { AttemptList, Counts } from '../parts/webhooks/attempts.tsx'
import { Replay, replay } from '../parts/webhooks/replay.tsx'
import { WasItSent } from '../parts/webhooks/told.tsx'
import { Waiting } from '../parts/webhooks/waiting.tsx'
import {
  type Attempts,
  behind,
  type Endpoint,
  nextTry,
  pathOf,
  pending,
  type ShownEndpoint,
  StateBadge,
} from '../parts/webhooks/words.tsx'
import { Ago, CustomerLink, Facts, More, OnlyRead } from '../parts/words.tsx'

async function read(id: string, signal: AbortSignal): Promise<ShownEndpoint & Attempts> {
  const shown: Promise<ShownEndpoint> = get(pathOf(id), {}, signal)
  const attempts: Promise<Attempts> = get(pathOf(id, 'attempts'), {}, signal)
  return Object.assign(...(await Promise.all([shown, attempts])))
}

export function WebhookView({ parts: [id = ''], parameters }: ViewProps) {
  const latest = useQuery((signal) => read(id, signal), [id], { isFresh: true })
  // Another operator may have removed it.
  const loaded = latest.error?.code === 'WEBHOOK_NOT_FOUND' ? { ...latest, data: undefined } : latest
  const endpoint = loaded.data?.Endpoint
  return (
    <>
      <p class="back">
        <a href={href('webhooks')}>{t('webhook.all')}</a>
      </p>
      <h1>
        <span class="name">{endpoint ? foreign(endpoint.URL) : t('word.webhook')}</span>{' '}
        {endpoint && <StateBadge endpoint={endpoint} />}
      </h1>
      <Loaded read={loaded} tall>
        {(data) => <Shown data={data} parameters={parameters} reload={loaded.reload} />}
      </Loaded>
    </>
  )
}

interface ShownProps extends Pick<ViewProps, 'parameters'> {
  readonly data: ShownEndpoint & Attempts
  readonly reload: () => Promise<void>
}

function Shown({ data, parameters, reload }: ShownProps) {
  const [said, setSaid] = useState('')
  const { Endpoint: endpoint, Failing, SetAside } = data
  const done = (text: string) => {
    setSaid(text)
    return reload()
  }
  return (
    <>
      <Attention endpoint={endpoint} />
      <Actions endpoint={endpoint} reload={reload} done={done} />
      <p role="status" class="said">
        {said}
      </p>
      <Progress endpoint={endpoint} />
      <Replay endpoint={endpoint} done={done} />
      <section>
        <h2>{t('webhook.attempts')}</h2>
        <Counts minutes={data.Minutes} range={parameters.range} />
      </section>
      {Failing.length > 0 && (
        <Waiting kind="failing" deliveries={Failing} total={endpoint.Failing} data={data} done={done} />
      )}
      {SetAside.length > 0 && (
        <Waiting kind="aside" deliveries={SetAside} total={endpoint.SetAside} data={data} done={done} />
      )}
      <section>
        <h2>{t('webhook.attempts.failures')}</h2>
        <AttemptList attempts={data.Attempts} />
      </section>
      <section>
        <h2>{t('webhook.told')}</h2>
        <WasItSent endpoint={endpoint} parameters={parameters} />
      </section>
      <section>
        <h2>{t('word.settings')}</h2>
        <Settings endpoint={endpoint} />
        {mayWrite.value && (
          <p class="line buttons">
            <button onClick={() => rotateSecret(endpoint, reload)}>{t('webhook.rotate.verb')}</button>
          </p>
        )}
      </section>
      {mayWrite.value && (
        <section class="danger-zone">
          <button class="danger" onClick={() => removeEndpoint(endpoint)}>
            {t('word.remove')}
          </button>
        </section>
      )}
    </>
  )
}

function Attention({ endpoint: { PausedReason, PausedAt } }: { readonly endpoint: Endpoint }) {
  if (PausedReason === null) return null
  return (
    <p class="attention">
      {PausedAt !== null && <b>{t('webhook.paused.since', { at: dateTime(PausedAt) })}</b>}{' '}
      {t(`webhook.paused.do.${PausedReason}`)}
    </p>
  )
}

interface ActionsProps {
  readonly endpoint: Endpoint
  readonly reload: () => Promise<void>
  readonly done: (text: string) => void
}

/** What a paused endpoint needs most is to be resumed. */
function Actions({ endpoint, reload, done }: ActionsProps) {
  if (!mayWrite.value) return <OnlyRead />
  const isPaused = endpoint.State === 'paused'
  return (
    <p class="line buttons">
      {isPaused && (
        <button class="primary" onClick={() => changeEndpoint('resume', endpoint, reload)}>
          {t('webhook.resume.verb')}
        </button>
      )}
      <button onClick={() => testEndpoint(endpoint, reload)}>{t('webhook.test.verb')}</button>
      <button onClick={() => replay({ endpoint, done })}>{t('webhook.replay.open')}</button>
      {!isPaused && (
        <button onClick={() => changeEndpoint('pause', endpoint, reload)}>{t('webhook.pause.verb')}</button>
      )}
    </p>
  )
}

function Progress({ endpoint }: { readonly endpoint: Endpoint }) {
  const { Failing, SetAside, PurgedUnsent, LastSuccessAt, FailingSince, NextTryAt } = endpoint
  const warned = (number: number) => number > 0 && <b class="warning">{whole(number)}</b>
  return (
    <Facts
      facts={[
        [
          t('webhook.pending'),
          Failing === 0
            ? pending(endpoint)
            : t('webhook.pending.failing', { pending: pending(endpoint), count: Failing }),
        ],
        [t('webhook.behind'), behind(endpoint)],
        [t('webhook.setAside'), warned(SetAside)],
        [t('webhook.purged'), warned(PurgedUnsent)],
        [t('webhook.lastSuccess'), <Ago at={LastSuccessAt} />],
        [t('webhook.failingSince'), FailingSince && <Ago at={FailingSince} />],
        [t('webhook.attempt.next'), nextTry(NextTryAt)],
      ]}
    />
  )
}

function Settings({ endpoint }: { readonly endpoint: Endpoint }) {
  const { EndpointID, CustomerID, Customer, Statuses, Duplicates, GiveUp, HasCA, Headers, CreatedAt, Cursor } = endpoint
  const statuses = Statuses?.map((status) => <span key={status}>{statusBadge(status)} </span>)
  return (
    <>
      <Facts
        facts={[
          [
            t('word.customer'),
            CustomerID ? <CustomerLink id={CustomerID} name={Customer} /> : t('webhook.customer.all'),
          ],
          [t('word.status'), statuses ?? t('word.any')],
          [t('word.duplicates'), t(`webhook.duplicates.${Duplicates}`)],
          [t('webhook.giveUp'), GiveUp === null ? t('webhook.giveUp.never') : duration(GiveUp)],
          [t('word.ca'), HasCA && t('webhook.ca.own')],
          [t('webhook.headers'), Headers.length > 0 && foreign(Headers.join(', '))],
          [t('word.added'), dateTime(CreatedAt)],
        ]}
      />
      <More
        facts={[
          [t('webhook.id'), <code>{EndpointID}</code>, EndpointID],
          [t('word.cursor'), <code>{Cursor}</code>, Cursor],
        ]}
      />
    </>
  )
}

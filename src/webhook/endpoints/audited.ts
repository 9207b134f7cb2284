import type { Action } from '#src/audit/action-names.ts'
import { type RecordAction, recorder } from '#src/audit/actions.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import type { Webhook } from '#src/store/store.ts'
import type { NamedHeader } from '../headers.ts'
import { maskedUrl } from '../masked-url.ts'
import type { Begin } from './begin.ts'
import type { Endpoints } from './endpoints.rule.ts'
import type { Replayed } from './replays.ts'

/** Wraps the rule so that each completed change is recorded in the audit log. */
export function auditedEndpoints(endpoints: Endpoints, record: RecordAction): Endpoints {
  /** `webhookOf` finds the endpoint in what the change resolves to. */
  const recorded = <Sent extends unknown[], Done>(
    action: Action,
    change: (...sent: Sent) => Promise<Done>,
    webhookOf: (done: Done) => Pick<Webhook, 'id' | 'customerId'>,
    detailsOf: (done: Done, ...sent: Sent) => object = () => ({}),
  ) =>
    recorder(record)(action, change, (done, ...sent) => {
      const { id, customerId } = webhookOf(done)
      return [customerId, { endpointId: id, ...detailsOf(done, ...sent) }]
    })
  const described = ({ webhook }: { readonly webhook: Webhook }) => webhook
  const inside = ({ endpoint }: { readonly endpoint: { readonly webhook: Webhook } }) => endpoint.webhook

  return {
    ...endpoints,
    add: recorded('webhook.add', endpoints.add, inside, (added) => {
      const { url, statuses, duplicates, giveUpMilliseconds, ca } = inside(added)
      return {
        url: maskedUrl(url),
        ...(statuses && { statuses }),
        ...(!duplicates && { duplicates }),
        ...(giveUpMilliseconds !== null && { giveUpSeconds: giveUpMilliseconds / 1000 }),
        ...(ca !== null && { ca: 'own' }),
      }
    }),
    set: recorded('webhook.set', endpoints.set, described, ({ webhook }, _id, wanted) => ({
      changed: Object.entries(wanted).flatMap(([name, value]) => (value === undefined ? [] : inWords(name))),
      ...(wanted.url !== undefined && { url: maskedUrl(webhook.url) }),
      ...(wanted.headers && headersInLog(wanted.headers)),
    })),
    pause: recorded('webhook.pause', endpoints.pause, described),
    resume: recorded('webhook.resume', endpoints.resume, described),
    replay: recorded('webhook.replay', endpoints.replay, inside, ({ deliveries }, _id, what) => ({
      ...detailsOf(what),
      deliveries,
    })),
    cancelReplay: recorded('webhook.replay', endpoints.cancelReplay, inside, ({ deliveries }) => ({
      cancel: true,
      deliveries,
    })),
    rotateSecret: recorded('webhook.rotate-secret', endpoints.rotateSecret, inside, (_rotated, _id, overlap) => ({
      overlapSeconds: overlap / 1000,
    })),
    test: recorded('webhook.test', endpoints.test, described, ({ attempt: { status, error } }) => ({ status, error })),
    remove: recorded(
      'webhook.remove',
      endpoints.remove,
      (webhook) => webhook,
      ({ url }) => ({ url: maskedUrl(url) }),
    ),
  }
}

/** Without the id of an order, which may have to be erased. */
function detailsOf(what: Replayed): Readonly<Record<string, unknown>> {
  if (what === 'set-aside') return { setAside: true }
  if ('receiptId' in what) return { receiptId: what.receiptId.toLowerCase() }
  const { begin, end, statuses } = what
  return {
    ...('orderId' in what && { order: true }),
    ...(begin !== undefined && { from: inLog(begin) }),
    ...(end !== undefined && { to: inLog(end) }),
    ...(statuses !== undefined && { statuses }),
  }
}

const inWords = (setting: string): string => (setting === 'giveUpMilliseconds' ? 'giveUp' : setting)

function headersInLog(headers: readonly NamedHeader[]) {
  const namesIf = (isSet: boolean) => headers.filter(([, value]) => (value !== null) === isSet).map(([name]) => name)
  const [headersSet, headersRemoved] = [namesIf(true), namesIf(false)]
  return { ...(headersSet.length > 0 && { headersSet }), ...(headersRemoved.length > 0 && { headersRemoved }) }
}

const inLog = (place: Begin): string =>
  typeof place === 'string' ? place : 'time' in place ? isoMilliseconds(place.time) : 'cursor'

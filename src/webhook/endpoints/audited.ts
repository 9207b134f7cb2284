import type { RecordAction } from '#src/audit/actions.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import type { NamedHeader } from '../headers.ts'
import type { Begin } from './begin.ts'
import type { Endpoints } from './endpoints.rule.ts'
import type { Replayed } from './replays.ts'

/** Wraps the rule so that each completed change is recorded in the audit log. */
export function auditedEndpoints(endpoints: Endpoints, record: RecordAction): Endpoints {
  return {
    ...endpoints,
    async add(wanted) {
      const added = await endpoints.add(wanted)
      const { id, customerId, url, statuses, duplicates, giveUpMilliseconds, ca } = added.endpoint.webhook
      await record('webhook.add', customerId, {
        endpointId: id,
        url: urlInLog(url),
        ...(statuses && { statuses }),
        ...(!duplicates && { duplicates }),
        ...(giveUpMilliseconds !== null && { giveUpSeconds: giveUpMilliseconds / 1000 }),
        ...(ca !== null && { ca: 'own' }),
      })
      return added
    },
    async set(id, wanted) {
      const endpoint = await endpoints.set(id, wanted)
      const { id: endpointId, customerId, url } = endpoint.webhook
      await record('webhook.set', customerId, {
        endpointId,
        changed: Object.entries(wanted).flatMap(([name, value]) => (value === undefined ? [] : inWords(name))),
        ...(wanted.url !== undefined && { url: urlInLog(url) }),
        ...(wanted.headers && headersInLog(wanted.headers)),
      })
      return endpoint
    },
    async pause(id) {
      const endpoint = await endpoints.pause(id)
      await record('webhook.pause', endpoint.webhook.customerId, { endpointId: endpoint.webhook.id })
      return endpoint
    },
    async resume(id) {
      const endpoint = await endpoints.resume(id)
      await record('webhook.resume', endpoint.webhook.customerId, { endpointId: endpoint.webhook.id })
      return endpoint
    },
    async replay(id, what) {
      const replayed = await endpoints.replay(id, what)
      const { id: endpointId, customerId } = replayed.endpoint.webhook
      const { deliveries } = replayed
      await record('webhook.replay', customerId, { endpointId, ...detailsOf(what), deliveries })
      return replayed
    },
    async cancelReplay(id) {
      const cancelled = await endpoints.cancelReplay(id)
      const { id: endpointId, customerId } = cancelled.endpoint.webhook
      await record('webhook.replay', customerId, { endpointId, cancel: true, deliveries: cancelled.deliveries })
      return cancelled
    },
    async rotateSecret(id, overlapMilliseconds) {
      const rotated = await endpoints.rotateSecret(id, overlapMilliseconds)
      const { id: endpointId, customerId } = rotated.endpoint.webhook
      await record('webhook.rotate-secret', customerId, { endpointId, overlapSeconds: overlapMilliseconds / 1000 })
      return rotated
    },
    async test(id) {
      const tested = await endpoints.test(id)
      const { webhook, attempt } = tested
      const { status, error } = attempt
      await record('webhook.test', webhook.customerId, { endpointId: webhook.id, status, error })
      return tested
    },
    async remove(id) {
      const removed = await endpoints.remove(id)
      await record('webhook.remove', removed.customerId, { endpointId: removed.id, url: urlInLog(removed.url) })
      return removed
    },
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

/** Without the query, which may hold a token. */
export const urlInLog = (url: string): string => url.split('?', 1).join()

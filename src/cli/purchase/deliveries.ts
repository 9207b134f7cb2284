import { OPERATOR } from '#src/customer/find-customer.ts'
import { AppError, inOtherWords } from '#src/lib/app-error.ts'
import { writeJson } from '#src/lib/json/raw.ts'
import { ndjsonLine } from '#src/lib/lines/exported.ts'
import { withoutMark } from '#src/lib/text.ts'
import { deliveryOriginAnswer, senderAnswer } from '#src/purchase/delivery-answer.ts'
import type { FoundDelivery, OnScanned } from '#src/purchase/orders/delivery-search.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import type { KeptOrigin } from '#src/store/store.ts'
import type { CliContext, Command } from '../command.ts'
import { limitOption, readLimit } from '../input/number.ts'
import { fields, table } from '../output/table.ts'
import { deliveryFilters, noneOf, type PurchaseFilter, readDeliveryFilters } from './filters.ts'
import { deliveryCells, deliveryHeading, deliveryJson, keyText, statusText } from './show.ts'
import { type PurchaseRules, withPurchases } from './with-purchases.ts'

const DEFAULT_LIMIT = 50

export const deliveryList: Command = {
  name: 'delivery list',
  about: 'List deliveries, duplicates included, newest last',
  options: { ...deliveryFilters, limit: limitOption(DEFAULT_LIMIT, 'the newest') },
  async run(input, context) {
    const filters = readDeliveryFilters(input, context.clock.now())
    const limit = readLimit(input, DEFAULT_LIMIT)
    const { found, names, isRefused } = await withPurchases(context, async (rules) => {
      const newest: FoundDelivery[] = []
      for await (const one of rules.search.findBack(await queryOf(filters, rules), progressOf(context))) {
        newest.push(one)
        if (newest.length === limit) break
      }
      context.progress('')
      const names = await rules.namesOf(newest.map(({ delivery }) => delivery.customerId))
      return {
        found: newest.reverse(),
        names,
        isRefused: newest.length === 0 && (await isOrderRefused(filters, rules)),
      }
    })
    return {
      // A filter by product has read payloads, which JSON.stringify cannot write.
      json: found.map((each) => foundJson({ ...each, payload: undefined })),
      text() {
        if (found.length === 0)
          return noneOf(filters, 'delivery', 'deliveries', isRefused ? OF_ORDER_REFUSED : OTHERS_REFUSED)
        const { times } = context
        const cells = found.map(({ delivery, origin }) =>
          beforeReceipt(deliveryCells(delivery, times, names.get(delivery.customerId)), originCells(origin)),
        )
        return table(beforeReceipt(deliveryHeading(times), ['key', 'address']), cells, context.columns)
      },
    }
  },
}

const OF_ORDER_REFUSED = ' Deliveries of this order were refused: see teslim order show.'
const OTHERS_REFUSED = ' For refused deliveries see teslim delivery refused list.'

/** Shows how many positions a search has gone through. */
const progressOf =
  (context: CliContext): OnScanned =>
  (done, all) =>
    context.progress(`${done} of ${all}`)

const queryOf = async ({ key, ...filters }: ReturnType<typeof readDeliveryFilters>, rules: PurchaseRules) => ({
  ...filters,
  key: key === undefined ? undefined : await rules.keyOf(key),
})

const foundJson = ({ delivery, payload, origin }: FoundDelivery) => ({
  ...deliveryJson(delivery, payload),
  ...senderAnswer(origin),
})

/** The receipt stays the last column. */
const beforeReceipt = (cells: readonly string[], more: readonly string[]): string[] => [
  ...cells.slice(0, -1),
  ...more,
  ...cells.slice(-1),
]

const originCells = (origin: KeptOrigin | undefined): string[] => [
  origin?.keyLabel || (origin?.keyId ?? ''),
  origin?.address ?? '',
]

async function isOrderRefused({ customer, orderId }: PurchaseFilter, { refusals }: PurchaseRules): Promise<boolean> {
  if (orderId === undefined) return false
  const page = await refusals.list('cli', OPERATOR, { customer, orderId, limit: 1 })
  return page.refusals.length > 0
}

export const deliveryShow: Command = {
  name: 'delivery show',
  about: 'Show one delivery, where it came from, and its payload',
  positionals: ['RECEIPTID'],
  options: { payload: { about: 'Print only the payload, byte for byte unless on a terminal' } },
  async run(input, context) {
    const { delivery, name } = await withPurchases(context, async ({ findDelivery, namesOf, receiptOf }) => {
      const delivery = await findDelivery(OPERATOR, await receiptOf(input.word))
      return { delivery, name: (await namesOf([delivery.customerId])).get(delivery.customerId) }
    }).catch(inOtherWords(purchaseErrors.deliveryNotFound, `There is no delivery ${JSON.stringify(input.word)}.`))
    const { orderId, status, duplicate, receivedAt, customerId, payload, erased, origin } = delivery
    if (input.flag('payload')) {
      if (erased) throw new AppError(purchaseErrors.payloadErased)
      context.outBytes(payload)
      return undefined
    }
    // JSON.stringify would not keep the bytes of the payload.
    if (input.json) {
      context.out(writeJson(deliveryOriginAnswer(delivery)).toString())
      return undefined
    }
    const shown = fields(delivery.receiptId, {
      received: context.times.text(receivedAt),
      customer: name ?? customerId,
      order: orderId ?? (erased ? 'erased, if it had one' : 'no order id was found in it'),
      status: `${statusText(status)}${duplicate ? '   (a duplicate: it changed nothing)' : ''}`,
      ...(origin && {
        'API key': keyText(origin),
        address: origin.address ?? 'erased',
        request: origin.requestId ?? 'erased',
      }),
      payload: erased ? 'erased' : `${payload.length} bytes`,
    })
    context.out(erased ? shown : `${shown}\n\n${pretty(payload)}`)
    return undefined
  },
}

/** Indents JSON for people. Large numbers may be rounded: --payload prints the bytes. */
const pretty = (payload: Uint8Array): string =>
  JSON.stringify(JSON.parse(withoutMark(payload).toString()), undefined, 2)

const AFTER = '--after takes the Cursor of an export or feed with the same --customer.'

export const deliveryExport: Command = {
  name: 'delivery export',
  about: 'Write deliveries and their payloads as NDJSON',
  details: 'They come in the order of commits. To continue later, pass the Cursor of the last line to --after.',
  options: {
    ...deliveryFilters,
    after: { value: 'CURSOR', about: 'Only what came after this Cursor of an earlier export or of the feed' },
  },
  async run(input, context) {
    const filters = readDeliveryFilters(input, context.clock.now())
    await withPurchases(context, async (rules) => {
      const query = { ...(await queryOf(filters, rules)), after: input.text('after'), withPayload: true }
      for await (const found of rules.search.find(query, progressOf(context))) {
        const line = { ...foundJson(found), Cursor: await rules.search.cursorOf(found.delivery, query) }
        context.outBytes(Buffer.from(ndjsonLine(writeJson(line).toString())))
      }
      context.progress('')
    }).catch(inOtherWords(purchaseErrors.cursorInvalid, AFTER))
  },
}

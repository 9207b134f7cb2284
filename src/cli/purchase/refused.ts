import { isUtf8 } from 'node:buffer'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { OPERATOR } from '#src/customer/find-customer.ts'
import { AppError, inOtherWords } from '#src/lib/app-error.ts'
import { textOf } from '#src/lib/messages/message.ts'
import { counted } from '#src/lib/printable.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import { reasonOf, whyRefused } from '#src/purchase/refusals/refusal-answer.ts'
import { withMessage } from '#src/purchase/refusals/refusals.rule.ts'
import type { Refusal, RefusedTally } from '#src/store/store.ts'
import type { Command } from '../command.ts'
import { findRefusal } from '../input/id-prefix.ts'
import { limitOption, readLimit } from '../input/number.ts'
import { periodOptions, readPeriod } from '../input/time.ts'
import { fields, table } from '../output/table.ts'
import type { Times } from '../output/times.ts'
import { keyText, refusalJson } from './show.ts'
import { readPages, withPurchases } from './with-purchases.ts'

const DEFAULT_LIMIT = 50

const KEEPING_IS_OFF =
  'No refused bodies are kept: TESLIM_KEEP_REFUSED is off. To keep them from now on, set TESLIM_KEEP_REFUSED=known for the server and restart it.'

export const refusedList: Command = {
  name: 'delivery refused list',
  about: 'List refused deliveries, and why they were refused, newest last',
  details:
    'Of many refusals in a minute only some are listed. Where one has bytes, its body is kept: only with TESLIM_KEEP_REFUSED=known, up to 64 MiB and for TESLIM_REFUSED_DAYS.',
  options: {
    customer: { value: 'CUSTOMER', about: 'Only those of this customer: e-mail address or id' },
    order: { value: 'ORDERID', about: 'Only those of this order' },
    request: { value: 'REQUESTID', about: 'Only that of this request: the requestId of the answer' },
    ...periodOptions,
    limit: limitOption(DEFAULT_LIMIT, 'the newest'),
  },
  async run(input, context) {
    const customer = input.text('customer')
    const query = {
      customer,
      orderId: input.text('order'),
      requestId: input.text('request'),
      ...readPeriod(input, context.clock.now()),
    }
    const most = readLimit(input, DEFAULT_LIMIT)
    const { found, names, tally } = await withPurchases(context, async ({ refusals, refused, namesOf }) => {
      const newest = await readPages(most, context, async (limit, cursor) => {
        const page = await refusals.list('cli', OPERATOR, { ...query, cursor, limit })
        return [page.refusals, page.nextCursor]
      })
      const names = await namesOf(newest.map(({ customerId }) => customerId))
      return { found: newest.reverse(), names, tally: await refused.tally() }
    }).catch(inOtherWords(customerErrors.notFound, `There is no customer ${JSON.stringify(customer)}.`))
    return {
      json: { Refusals: found.map(refusalJson), ...tallyJson(tally) },
      text() {
        const { times, columns } = context
        const heading = [times.heading('time'), 'order', 'error code', 'bytes', 'customer', 'refusal', 'message']
        const cells = found.map((each) => refusalCells(each, times, names.get(each.customerId ?? '')))
        const isOff = tally.bodies === 0 && context.loadConfig().config.keepRefused === 'off'
        const list = found.length === 0 ? 'No refusal matches.' : `${table(heading, cells, columns)}\n`
        return `${list}\n${isOff ? KEEPING_IS_OFF : tallyText(tally)}`
      },
    }
  },
}

export const refusedShow: Command = {
  name: 'delivery refused show',
  about: 'Show one refused delivery, and its body if it was kept',
  positionals: ['REFUSALID'],
  options: { payload: { about: 'Print only the body, byte for byte' } },
  async run({ word, flag }, context) {
    const { refusal, payload, customer } = await withPurchases(context, async ({ refused, namesOf }) => {
      const found = await findRefusal(word, refused)
      if (found === undefined) throw notFound(`There is no refused delivery ${JSON.stringify(word)}.`)
      const { customerId } = found
      const body = await refused.find(found.refusalId)
      const names = await namesOf([customerId])
      return {
        refusal: withMessage(found),
        payload: body?.payload,
        customer: names.get(customerId ?? '') ?? customerId ?? 'unknown',
      }
    })
    if (flag('payload')) {
      if (payload === undefined) throw notFound('Its body was not kept.')
      context.outBytes(payload)
      return undefined
    }
    return {
      json: {
        ...refusalJson(refusal),
        ...(payload && { PayloadBase64: Buffer.from(payload).toString('base64') }),
      },
      text() {
        const { refusalId, at, keyId, keyLabel, orderId, errorCode, message, requestId, address } = refusal
        const reason = reasonOf(refusal)
        const shown = fields(refusalId, {
          refused: context.times.text(at),
          customer,
          key: keyId === null ? 'unknown' : keyText({ keyId, keyLabel }),
          order: orderId ?? 'no order id was found in it',
          error: errorCode,
          message: textOf(message),
          reason: reason && textOf(reason),
          request: requestId ?? '',
          address: address ?? '',
          body: payload === undefined ? 'not kept' : `${payload.length} bytes`,
        })
        return payload === undefined ? shown : `${shown}\n\n${bodyText(payload)}`
      },
    }
  },
}

const notFound = (message: string): AppError => new AppError(purchaseErrors.refusalNotFound, { message })

const refusalCells = (refusal: Refusal, times: Times, customer: string | undefined): string[] => [
  times.text(refusal.at),
  refusal.orderId ?? '',
  refusal.errorCode,
  String(refusal.payloadBytes ?? ''),
  customer ?? refusal.customerId ?? '',
  refusal.refusalId,
  whyRefused(refusal),
]

const tallyJson = ({ bodies, bytes, removed, notKept }: RefusedTally) => ({
  Bodies: bodies,
  Bytes: bytes,
  Removed: removed,
  NotKept: notKept,
})

const tallyText = ({ bodies, bytes, removed, notKept }: RefusedTally): string =>
  `${counted(bodies, 'body is', 'bodies are')} kept, in ${bytes} bytes. So far ${counted(removed, 'body', 'bodies')} went to make room for younger ones, and ${counted(notKept, 'was', 'were')} not kept because too many came at once.`

const bodyText = (payload: Uint8Array): string =>
  isUtf8(payload) ? Buffer.from(payload).toString() : 'The body is not UTF-8: --payload prints its bytes.'

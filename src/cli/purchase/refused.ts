import { isUtf8 } from 'node:buffer'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { OPERATOR } from '#src/customer/find-customer.ts'
import { AppError } from '#src/lib/app-error.ts'
import { textOf } from '#src/lib/messages/message.ts'
import { counted, printable } from '#src/lib/printable.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import { reasonOf, whyRefused } from '#src/purchase/refusals/refusal-answer.ts'
import { type RefusalPage, withMessage } from '#src/purchase/refusals/refusals.rule.ts'
import type { Refusal, RefusedTally } from '#src/store/store.ts'
import type { Command } from '../command.ts'
import { findRefusal } from '../input/id-prefix.ts'
import { limitOption, readLimit } from '../input/number.ts'
import { periodOptions, readPeriod } from '../input/time.ts'
import { table } from '../output/table.ts'
import type { Times } from '../output/times.ts'
import { refusalJson } from './show.ts'
import { inOtherWords, withPurchases } from './with-purchases.ts'

const DEFAULT_LIMIT = 50
const MAX_IN_A_PAGE = 500

const KEEPING_IS_OFF =
  'No refused bodies are kept: TESLIM_KEEP_REFUSED is off. To keep them from now on, set TESLIM_KEEP_REFUSED=known for the server and restart it.'

export const refusedList: Command = {
  name: 'delivery refused list',
  about: 'List refused deliveries, and why they were refused, newest last',
  details:
    'Of many refusals in a minute only some are listed. Where one has bytes, its body is kept: only with TESLIM_KEEP_REFUSED=known, up to 64 MiB and for TESLIM_REFUSED_DAYS.',
  options: {
    customer: { type: 'string', value: 'CUSTOMER', about: 'Only those of this customer: e-mail address or id' },
    order: { type: 'string', value: 'ORDERID', about: 'Only those of this order' },
    request: { type: 'string', value: 'REQUESTID', about: 'Only that of this request: the requestId of the answer' },
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
    const limit = readLimit(input, DEFAULT_LIMIT)
    const { found, emails, tally } = await withPurchases(context, async ({ refusals, refused, emails }) => {
      const found: Refusal[] = []
      let cursor: string | undefined
      do {
        const most = Math.min(limit - found.length, MAX_IN_A_PAGE)
        const page: RefusalPage = await refusals.list('cli', OPERATOR, { ...query, cursor, limit: most })
        found.push(...page.refusals)
        cursor = page.nextCursor ?? undefined
        context.progress(`${found.length} found`)
      } while (cursor !== undefined && found.length < limit)
      context.progress('')
      return { found: found.reverse(), emails: await emails(), tally: await refused.tally() }
    }).catch(inOtherWords(customerErrors.notFound, `There is no customer ${JSON.stringify(customer)}.`))
    if (input.json) context.out(JSON.stringify({ Refusals: found.map(refusalJson), ...tallyJson(tally) }))
    else {
      const heading = [context.times.heading('time'), 'order', 'error code', 'bytes', 'customer', 'refusal', 'message']
      const cells = found.map((each) => refusalCells(each, context.times, emails.get(each.customerId ?? '')))
      const isOff = tally.bodies === 0 && context.loadConfig().config.keepRefused === 'off'
      const list = found.length === 0 ? ['No refusal matches.'] : [table(heading, cells, context.columns), '']
      context.out([...list, isOff ? KEEPING_IS_OFF : tallyText(tally)].join('\n'))
    }
  },
}

export const refusedShow: Command = {
  name: 'delivery refused show',
  about: 'Show one refused delivery, and its body if it was kept',
  positionals: ['REFUSALID'],
  options: { payload: { type: 'boolean', about: 'Print only the body, byte for byte' } },
  async run(input, context) {
    const [typed = ''] = input.positionals
    const { refusal, payload, email } = await withPurchases(context, async ({ refused, emails }) => {
      const found = await findRefusal(typed, refused)
      if (found === undefined) {
        const message = `There is no refused delivery ${JSON.stringify(typed)}.`
        throw new AppError(purchaseErrors.refusalNotFound, { message })
      }
      const body = await refused.find(found.refusalId)
      return {
        refusal: withMessage(found),
        payload: body?.payload,
        email: (await emails()).get(found.customerId ?? ''),
      }
    })
    if (input.flag('payload')) {
      if (payload === undefined)
        throw new AppError(purchaseErrors.refusalNotFound, { message: 'Its body was not kept.' })
      context.outBytes(payload)
    } else if (input.json) {
      const body = payload && { PayloadBase64: Buffer.from(payload).toString('base64') }
      context.out(JSON.stringify({ ...refusalJson(refusal), ...body }))
    } else {
      const { refusalId, at, customerId, keyId, keyLabel, orderId, errorCode, message, requestId, address } = refusal
      const reason = reasonOf(refusal)
      const lines = [
        ['refused', context.times.text(at)],
        ['customer', email ?? customerId ?? 'unknown'],
        ['key', (keyLabel ? `${keyId} (${keyLabel})` : keyId) ?? 'unknown'],
        ['order', orderId ?? 'no order id was found in it'],
        ['error', errorCode],
        ['message', textOf(message)],
        ...(reason === undefined ? [] : [['reason', textOf(reason)]]),
        ['request', requestId ?? ''],
        ['address', address ?? ''],
        ['body', payload === undefined ? 'not kept' : `${payload.length} bytes`],
      ].map(([name = '', text = '']) => `  ${name.padEnd(10)}${printable(text)}`)
      context.out([refusalId, ...lines, ...(payload === undefined ? [] : ['', bodyText(payload)])].join('\n'))
    }
  },
}

const refusalCells = (refusal: Refusal, times: Times, email: string | undefined): string[] =>
  [
    times.text(refusal.at),
    refusal.orderId ?? '',
    refusal.errorCode,
    String(refusal.payloadBytes ?? ''),
    email ?? refusal.customerId ?? '',
    refusal.refusalId,
    whyRefused(refusal),
  ].map(printable)

const tallyJson = ({ bodies, bytes, removed, notKept }: RefusedTally) => ({
  Bodies: bodies,
  Bytes: bytes,
  Removed: removed,
  NotKept: notKept,
})

const tallyText = ({ bodies, bytes, removed, notKept }: RefusedTally): string =>
  `${counted(bodies, 'body is', 'bodies are')} kept, in ${bytes} bytes. So far ${counted(removed, 'body', 'bodies')} went to make room for younger ones, and ${counted(notKept, 'was', 'were')} not kept because too many came at once.`

/** For a terminal: keeps line breaks and tabs, and replaces other control characters. */
const bodyText = (payload: Uint8Array): string =>
  isUtf8(payload)
    ? Buffer.from(payload)
        .toString()
        .split(/(\r?\n|\t)/)
        .map((part, index) => (index % 2 === 1 ? part : printable(part)))
        .join('')
    : 'The body is not UTF-8: --payload prints its bytes.'

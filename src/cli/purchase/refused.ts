import { isUtf8 } from 'node:buffer'
import { AppError } from '#src/lib/app-error.ts'
import { isoMilliseconds, timeText } from '#src/lib/clock.ts'
import { displayNames } from '#src/lib/display-name.ts'
import { messageAnswer, textOf } from '#src/lib/messages/message.ts'
import { counted, printable } from '#src/lib/printable.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import type { RefusedBodySummary, RefusedTally } from '#src/store/store.ts'
import type { Command } from '../command.ts'
import { findRefusal } from '../input/id-prefix.ts'
import { limitOption, readLimit } from '../input/number.ts'
import { periodOptions, readPeriod } from '../input/time.ts'
import { table } from '../output/table.ts'
import { withAccounts } from '../with-accounts.ts'

const DEFAULT_LIMIT = 50

const KEEPING_IS_OFF =
  'No refused bodies are kept: TESLIM_KEEP_REFUSED is off. To keep them from now on, set TESLIM_KEEP_REFUSED=known for the server and restart it.'

export const refusedList: Command = {
  name: 'delivery refused list',
  about: 'List refused deliveries whose bodies are kept, newest last',
  details:
    'Bodies are kept only with TESLIM_KEEP_REFUSED=known, up to 64 MiB and for TESLIM_REFUSED_DAYS. "teslim audit list" shows refusals without their bodies.',
  options: {
    customer: { type: 'string', value: 'CUSTOMER', about: 'Only those of this customer: e-mail address or id' },
    order: { type: 'string', value: 'ORDERID', about: 'Only those of this order' },
    request: { type: 'string', value: 'REQUESTID', about: 'Only that of this request: the requestId of the answer' },
    ...periodOptions,
    limit: limitOption(DEFAULT_LIMIT, 'the newest'),
  },
  async run(input, context) {
    const filter = {
      orderId: input.text('order'),
      requestId: input.text('request'),
      ...readPeriod(input, context.clock.now()),
      limit: readLimit(input, DEFAULT_LIMIT),
    }
    const who = input.text('customer')
    const { found, emails, tally } = await withAccounts(context, 'read', async ({ customers }, { refused }) => {
      const customerId = who === undefined ? undefined : (await customers.show(who)).id
      const found = await refused.list({ ...filter, customerId })
      const emails = displayNames(await customers.list())
      return { found, emails, tally: await refused.tally() }
    })
    if (input.json) context.out(JSON.stringify({ Refusals: found.map(refusedJson), ...tallyJson(tally) }))
    else {
      const heading = ['time (UTC)', 'order', 'error code', 'bytes', 'customer', 'refusal']
      const cells = found.map((each) => refusedCells(each, emails.get(each.customerId)))
      const isOff = tally.bodies === 0 && context.loadConfig().config.keepRefused === 'off'
      const none = isOff ? KEEPING_IS_OFF : 'No refused body matches.'
      const list = found.length === 0 ? [none] : [table(heading, cells, context.columns), '']
      context.out([...list, tallyText(tally)].join('\n'))
    }
  },
}

export const refusedShow: Command = {
  name: 'delivery refused show',
  about: 'Show one refused delivery and its body',
  positionals: ['REFUSALID'],
  options: { payload: { type: 'boolean', about: 'Print only the body, byte for byte' } },
  async run(input, context) {
    const [typed = ''] = input.positionals
    const { found, email } = await withAccounts(context, 'read', async ({ customers }, { refused }) => {
      const found = await refused.find(await findRefusal(typed, refused))
      if (found === undefined) {
        const message = `There is no refused delivery ${JSON.stringify(typed)} whose body is kept.`
        throw new AppError(purchaseErrors.refusalNotFound, { message })
      }
      return { found, email: displayNames(await customers.list()).get(found.customerId) }
    })
    const { payload, ...refusal } = found
    const summary = { ...refusal, payloadBytes: payload.length }
    if (input.flag('payload')) context.outBytes(payload)
    else if (input.json) {
      context.out(JSON.stringify({ ...refusedJson(summary), PayloadBase64: Buffer.from(payload).toString('base64') }))
    } else {
      const { refusalId, at, customerId, keyId, keyLabel, orderId, errorCode, message, requestId, address } = refusal
      const lines = [
        ['refused', `${timeText(at)} UTC`],
        ['customer', email ?? customerId],
        ['key', keyLabel ? `${keyId} (${keyLabel})` : keyId],
        ['order', orderId ?? 'no order id was found in it'],
        ['error', errorCode],
        ['message', textOf(message)],
        ['request', requestId],
        ['address', address],
        ['body', `${payload.length} bytes`],
      ].map(([name = '', text = '']) => `  ${name.padEnd(10)}${printable(text)}`)
      context.out([refusalId, ...lines, '', bodyText(payload)].join('\n'))
    }
  },
}

/** A refused body as JSON shows it, with the field names of the API. */
const refusedJson = (refusal: RefusedBodySummary) => ({
  RefusalID: refusal.refusalId,
  RefusedAt: isoMilliseconds(refusal.at),
  ErrorCode: refusal.errorCode,
  ...messageAnswer(refusal.message),
  ...(refusal.orderId !== null && { OrderID: refusal.orderId }),
  RequestID: refusal.requestId,
  KeyID: refusal.keyId,
  ...(refusal.keyLabel !== null && { KeyLabel: refusal.keyLabel }),
  CustomerID: refusal.customerId,
  Address: refusal.address,
  PayloadBytes: refusal.payloadBytes,
})

const refusedCells = (refusal: RefusedBodySummary, email: string | undefined): string[] =>
  [
    timeText(refusal.at),
    refusal.orderId ?? '',
    refusal.errorCode,
    String(refusal.payloadBytes),
    email ?? refusal.customerId,
    refusal.refusalId,
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

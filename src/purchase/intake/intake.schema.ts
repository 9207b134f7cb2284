import { Type } from '@sinclair/typebox'
import type { Config } from '#src/config/load-config.ts'
import { named, RECEIPT_ID, text, time } from '#src/lib/json/schema-parts.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import { asciiLowerCase } from '#src/lib/text.ts'
import { createDeliveryReader, IDEMPOTENCY_KEY } from '../delivery-body.ts'
import { StatusSchema } from '../purchase.schema.ts'
import { STATUS_MEANINGS } from '../status.ts'
import { inWords } from './intake.rule.ts'

export const purchaseHeadersSchema = ({ idempotencyDays }: Config) =>
  Type.Object({
    ApiKey: Type.String({ description: 'The key that teslim key issue printed' }),
    'Idempotency-Key': Type.Optional(
      Type.String({
        pattern: IDEMPOTENCY_KEY.source,
        description: `Identifies this delivery: for ${idempotencyDays} days a retry with the same key and the same bytes gets the first receipt`,
        examples: ['PO-1001-processing'],
      }),
    ),
  })

export const PurchaseQuerySchema = Type.Object({
  validateOnly: Type.Optional(
    Type.Literal('true', {
      title: 'true, and sent once',
      description:
        'Checks the delivery as if it were made, refuses it as it would be refused, and stores nothing. Counts as a delivery for the rate limit. Any other value is refused',
      examples: ['true'],
    }),
  ),
})

/**
 * Whether a request only validates; throws for any value but `true`, so that a typing error never delivers. The name may be in any letter
 * case.
 */
export function validatesOnly(query: object): boolean {
  const values = Object.entries(query).filter(([name]) => asciiLowerCase(name) === 'validateonly')
  if (values.length === 0) return false
  if (values.length === 1 && values[0]?.[1] === 'true') return true
  throw invalidRequest([{ path: 'query/validateOnly', message: 'must be true, and sent once' }])
}

export const PurchaseBodySchema = Type.Object({ Status: StatusSchema }, { additionalProperties: true })

export const purchaseBodySchema = ({ orderIdPointers, orderId, productPointers, bodyLimitBytes }: Config) => ({
  ...PurchaseBodySchema,
  description: [
    `What a supplier reports about a purchase order, in at most ${bodyLimitBytes} bytes. Whatever it holds besides Status is kept byte for byte.`,
    `The order id is the first of ${orderIdPointers.join(', ')}; ${orderId === 'required' ? 'without one the delivery is refused' : 'it may be missing'}.`,
    `The products are those at ${productPointers.join(', ')}.`,
    'Names in these JSON Pointers are case-insensitive, and * stands for each element of an array.',
  ].join(' '),
})

/** A delivery with its order id and its product where a server with these settings looks for them. */
export function deliveryExample({ orderIdPointers, productPointers }: Config, order: string, status: number): object {
  const body = {}
  put(body, orderIdPointers.at(-1) ?? '', order)
  put(body, '/Status', status)
  put(body, productPointers.at(-1) ?? '', 'SKU-1')
  return body
}

/** Puts a value where a pointer leads, unless another value is in the way. */
function put(body: object, pointer: string, value: string | number): void {
  const steps = pointer.split('/').slice(1)
  let place = body as Record<string, unknown>
  for (const [index, step] of steps.entries()) {
    const name = step === '*' ? '0' : step.replaceAll('~1', '/').replaceAll('~0', '~')
    const inner = steps[index + 1] === '*' ? [] : {}
    place[name] ??= index + 1 === steps.length ? value : inner
    if (typeof place[name] !== 'object') return
    place = place[name] as Record<string, unknown>
  }
}

/** Examples for the contract: one delivery for each Status. */
export const purchaseExamples = (config: Config) =>
  Object.fromEntries(
    // The first one is what people send first: not a cancellation.
    [2, 1, 3, 0].map((status) => [
      `status${status}`,
      { summary: `Status ${status}: ${STATUS_MEANINGS[status]}`, value: deliveryExample(config, 'PO-1', status) },
    ]),
  )

/** A misspelled field, as a server with these settings warns of it: its name has a letter too many. */
function warningExamples(config: Config): string[] {
  const { orderId, orderIdPointers, productPointers } = config
  // If an order id is required, a delivery without one is refused.
  const pointer = (orderId === 'required' ? productPointers : orderIdPointers).at(-1) ?? ''
  const body = { Status: 2 }
  put(body, pointer.replace(/(?:\/\*)*$/, 's$&'), 'PO-1')
  const reader = createDeliveryReader({ ...config, orderId: 'optional' })
  const { warnings } = reader.parse(Buffer.from(JSON.stringify(body)))
  return warnings.filter(({ path }) => path !== '').map(inWords)
}

const warnings = (config: Config) =>
  Type.Optional(
    Type.Array(Type.String({ examples: warningExamples(config) }), {
      description: 'Probable mistakes: no order id, misspelled fields. Absent if there are none.',
    }),
  )

const receipt = {
  ReceiptID: Type.String({
    format: 'uuid',
    description: 'Identifies the delivery; sorts by time of arrival',
    examples: [RECEIPT_ID],
  }),
  Status: StatusSchema,
  OrderID: Type.Optional(text('The id of the order, if one was found', 'PO-1')),
  Duplicate: Type.Boolean({
    description: 'Whether this delivery repeats an earlier one; the receipt is then that of the first',
    examples: [false],
  }),
  ReceivedAt: time('Time of arrival in UTC'),
}

const { Status, OrderID, Duplicate } = receipt
const check = {
  ValidateOnly: Type.Literal(true, { description: 'Nothing was stored' }),
  Status,
  OrderID,
  Products: Type.Array(Type.String({ examples: ['SKU-1'] }), { description: 'The products that were found' }),
  Duplicate,
}

export const receiptSchema = (config: Config) => named('Receipt', { ...receipt, Warnings: warnings(config) })

export const checkSchema = (config: Config) =>
  named('Check', { ...check, Warnings: warnings(config) }, { description: 'The answer to validateOnly=true' })

const RECEIPT = `{"Line":1,"data":{"ReceiptID":"${RECEIPT_ID}","Status":2,"OrderID":"PO-1","Duplicate":false,"ReceivedAt":"2026-11-21T08:37:25.959Z"},"success":true,"message":"OK"}`
const REFUSAL =
  '{"Line":2,"data":null,"success":false,"message":"The request is not valid: /Status is required.","errorCode":"INVALID_REQUEST","requestId":"4f1c7d0e-2d0b-4b5e-9d53-6f6f6a0a3c11","errors":[{"path":"/Status","message":"is required"}]}'

export const UploadHeadersSchema = Type.Object({
  ApiKey: Type.String({ description: 'The key that teslim key issue printed' }),
})

/** A text; its example stands in `uploadExamples`. */
export const UploadBodySchema = Type.Any({
  description: `One delivery a line: the body as in /Purchase/update, or an object whose only members are IdempotencyKey and Body. Status is from 0 to ${STATUS_MEANINGS.length - 1}.`,
})

export function uploadExamples(config: Config) {
  const keyed = { IdempotencyKey: 'PO-2-1', Body: deliveryExample(config, 'PO-2', 1) }
  const value = [deliveryExample(config, 'PO-1', 2), keyed].map((line) => `${JSON.stringify(line)}\n`).join('')
  return { lines: { summary: 'A delivery, and one with an idempotency key', value } }
}

/** Describes the lines of the answer, for the contract. */
export const UploadAnswerSchema = text(
  'One answer for each line that is not blank, in their order: the answer of /Purchase/update, with Line, the number of the line. Line is null in a last line that tells why the upload ended early.',
  `${RECEIPT}\n${REFUSAL}\n`,
)

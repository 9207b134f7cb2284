import { Type } from '@sinclair/typebox'
import type { Config } from '#src/config/load-config.ts'
import { STATUS_MEANINGS } from '../status.ts'
import { deliveryExample } from './intake.schema.ts'

const RECEIPT =
  '{"Line":1,"data":{"ReceiptID":"01a1fd40-d147-7681-8dbc-9e73fe5b8d5f","Status":2,"OrderID":"PO-1","Duplicate":false,"ReceivedAt":"2026-11-21T08:37:25.959Z"},"success":true,"message":"OK"}'
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
export const UploadAnswerSchema = Type.String({
  description:
    'One answer for each line that is not blank, in their order: the answer of /Purchase/update, with Line, the number of the line. Line is null in a last line that tells why the upload ended early.',
  examples: [`${RECEIPT}\n${REFUSAL}\n`],
})

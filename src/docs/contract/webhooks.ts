import { MessageHeadersSchema, MessageSchema } from '#src/webhook/message.schema.ts'
import { exampleOf } from './examples.ts'
import type { Copy } from './operations.ts'
import { WEBHOOK_TAG } from './page.ts'

const retryAfter = {
  description: 'Seconds or a date; one hour at most counts',
  schema: { type: 'string', examples: ['120'] },
}
const waits = {
  description: 'Sent again; nothing is sent to the endpoint before Retry-After is over',
  headers: { 'retry-after': retryAfter },
}

/** What endpoints of webhooks receive, as the `webhooks` of OpenAPI 3.1. */
export function contractWebhooks(copy: Copy) {
  const schema = copy(MessageSchema)
  const parameters = Object.entries(copy(MessageHeadersSchema).properties ?? {}).map(
    ([name, { description, ...value }]) => ({ name, in: 'header', required: true, description, schema: value }),
  )
  const post = {
    operationId: 'webhookMessage',
    summary: 'A delivery or a test that an endpoint receives',
    tags: [WEBHOOK_TAG],
    description:
      'Sent to the URL of an endpoint, at least once: verify the signature over the bytes as they came, and recognise repeats by webhook-id. Deliveries of one order come one after the other, in the order in which they were stored. The answer must be complete within 15 seconds; its body does not matter. Answer 2xx to types that you do not know.',
    security: [],
    parameters,
    requestBody: {
      required: true,
      content: { 'application/json': { schema, example: exampleOf(schema) } },
    },
    responses: {
      '2XX': { description: 'Received: it is confirmed' },
      410: { description: 'Sent again once an operator resumes the endpoint, which is paused' },
      429: waits,
      503: waits,
      default: { description: 'Sent again after a pause, a redirect, too, which is not followed' },
    },
  }
  return { message: { post } }
}

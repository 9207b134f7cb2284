import { expect, it } from 'vitest'
import { messageViolation, published } from '../support/docs/contract.ts'

const signature = `v1,${Buffer.alloc(32, 7).toString('base64')}`
const headers = { 'webhook-id': '1', 'webhook-timestamp': '1795250245', 'webhook-signature': signature }
const { message } = published.webhooks as { message: { post: { requestBody: { content: object } } } }
const [{ example }] = Object.values(message.post.requestBody.content) as [{ example: { data: object } }]
const test = { type: 'teslim.test', timestamp: '2026-11-21T08:37:25.959Z', data: {} }

it('the webhooks of openapi.yaml describe each kind of message, closed, with its headers', () => {
  expect(messageViolation(example, headers)).toBeUndefined()
  expect(messageViolation(test, { ...headers, 'webhook-signature': `${signature} ${signature}` })).toBeUndefined()
  const wrong = [
    [{ ...example, more: 1 }, headers],
    [{ ...example, data: { ...example.data, more: 1 } }, headers],
    [{ ...example, data: {} }, headers],
    [{ ...test, data: { more: 1 } }, headers],
    [{ ...test, type: 'other' }, headers],
    [example, { ...headers, 'webhook-id': undefined }],
    [example, { ...headers, 'webhook-timestamp': 'now' }],
    [example, { ...headers, 'webhook-signature': signature.slice(3) }],
  ] as const
  for (const [body, sent] of wrong) expect(messageViolation(body, sent), JSON.stringify([body, sent])).toBeDefined()
})

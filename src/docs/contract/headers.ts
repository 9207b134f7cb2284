import type { Config } from '#src/config/load-config.ts'

export interface Reference {
  readonly $ref: string
}

export const REQUEST_ID = '4f1c7d0e-2d0b-4b5e-9d53-6f6f6a0a3c11'

/** A server without a limit may have keys that have one. */
const LIMIT = 600

export const headersOf = ({ rateLimit }: Config, limit = rateLimit || LIMIT) => ({
  Allow: {
    description: 'The methods of this address; the 204 that answers OPTIONS has it, too',
    required: true,
    schema: { type: 'string', pattern: '^[A-Z]+(, [A-Z]+)*$', examples: ['GET, HEAD'] },
  },
  RequestId: {
    description: 'Names the request in the log: the id that the request carried in this header, or a new one',
    required: true,
    schema: { type: 'string', examples: [REQUEST_ID] },
  },
  ETag: {
    description: 'Send it as If-None-Match: while nothing has changed, the answer is 304 without a body.',
    schema: { type: 'string', pattern: '^W/"[!#-~]+"$', examples: ['W/"Zr2n3YwzTfC4vX0kq1mJbA"'] },
  },
  RateLimitLimit: {
    description:
      'Deliveries a minute that the API key may make. This and the other two are absent if it has no limit, and from answers to requests that are refused before the key is known',
    schema: { type: 'integer', minimum: 1, examples: [limit] },
  },
  RateLimitRemaining: {
    description: 'Deliveries that it may make now',
    schema: { type: 'integer', minimum: 0, examples: [limit - 1] },
  },
  RateLimitReset: {
    description: 'Seconds until it may make as many as ever again',
    schema: { type: 'integer', minimum: 0, examples: [Math.ceil(60 / limit)] },
  },
  RetryAfter: {
    description: 'Seconds to wait before the next try',
    required: true,
    schema: { type: 'integer', minimum: 0, examples: [1] },
  },
  Challenge: {
    description: 'Which credentials are missing or wrong',
    required: true,
    schema: { type: 'string', pattern: '^(ApiKey|Bearer) realm="teslim"', examples: ['Bearer realm="teslim"'] },
  },
})

export const header = (name: keyof ReturnType<typeof headersOf>): Reference => ({
  $ref: `#/components/headers/${name}`,
})

export const ALLOWANCE = {
  'ratelimit-limit': header('RateLimitLimit'),
  'ratelimit-remaining': header('RateLimitRemaining'),
  'ratelimit-reset': header('RateLimitReset'),
}

/** Refusals of requests whose API key is not known yet, or whose time is over. */
export const BEFORE_ALLOWANCE: ReadonlySet<number> = new Set([405, 408, 415, 431])

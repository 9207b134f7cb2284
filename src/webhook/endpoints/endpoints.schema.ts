import { type SchemaOptions, type TSchema, Type } from '@sinclair/typebox'
import { named } from '#src/lib/json/named-schema.ts'
import { WEBHOOK_PAUSES } from '#src/store/store.ts'
import { LONGEST_GIVE_UP_SECONDS, LONGEST_OVERLAP_HOURS, SHORTEST_GIVE_UP_SECONDS } from './limits.ts'

const ENDPOINT_ID = '01a1fd42-7c3e-7d10-9b2a-6c1e5f0a4d77'
const CUSTOMER_ID = '01a1fd40-0c1e-7b52-9a0f-3f5d2c1b7e64'
const RECEIPT_ID = '01a1fd40-d147-7681-8dbc-9e73fe5b8d5f'
const URL_EXAMPLE = 'https://backoffice.example/webhooks'
const CURSOR = 'cY3Vyc29yLW9mLWEtZGVsaXZlcnk'
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwTp4yKLBvDHo='

const time = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-11-21T08:37:25.959Z'] })
const orNull = <Schema extends TSchema>(schema: Schema, description: string, options: SchemaOptions = {}) =>
  Type.Union([schema, Type.Null()], { description, ...options })

/** Of an active endpoint. */
const NULL_EXAMPLE = { examples: [null] }
const EndpointID = Type.String({ description: 'Names the endpoint', examples: [ENDPOINT_ID] })
const Status = Type.Integer({ minimum: 0, maximum: 3, examples: [3] })

const EndpointSchema = named('Endpoint', {
  EndpointID,
  URL: Type.String({
    description: 'Where deliveries are sent; its query is *** for a read-only operator',
    examples: [URL_EXAMPLE],
  }),
  CustomerID: orNull(
    Type.String({ examples: [CUSTOMER_ID] }),
    'Gets deliveries of this customer; null for all customers',
  ),
  Statuses: orNull(Type.Array(Status), 'Gets deliveries with one of these Statuses; null for all'),
  Duplicates: Type.Boolean({ description: 'Whether it gets duplicates, too' }),
  State: Type.Union([Type.Literal('active'), Type.Literal('paused')], {
    description: 'Nothing is sent to an endpoint that is paused, and nothing is lost',
  }),
  PausedReason: orNull(
    Type.Union(
      WEBHOOK_PAUSES.map((reason) => Type.Literal(reason)),
      { title: 'PausedReason' },
    ),
    'operator: by an operator; gone: it answered 410; customer-removed: with its customer; restored: the store was restored or copied. Null for an endpoint that is active',
    NULL_EXAMPLE,
  ),
  PausedAt: orNull(time('When it was paused'), 'Null for an endpoint that is active', NULL_EXAMPLE),
  Pending: Type.Integer({
    description: 'At most this many deliveries are still to be confirmed: some of them may not be for this endpoint',
    examples: [12],
  }),
  Waiting: Type.Integer({
    description: 'Deliveries that wait to be tried again, or for an earlier delivery of their order',
    examples: [2],
  }),
  SetAside: Type.Integer({
    description: 'Deliveries that failed for too long, and are not tried again',
    examples: [0],
  }),
  LastSuccessAt: orNull(time('When it confirmed a delivery last'), 'Null for never'),
  FailingSince: orNull(
    time('When the first failure since the last success happened'),
    'Null if the last attempt succeeded',
  ),
  NextTryAt: orNull(time('When the next attempt is due'), 'Null if nothing is to be tried again'),
  BehindSeconds: Type.Integer({
    description: 'The age of the oldest delivery that is neither confirmed nor set aside; 0 if there is none',
    examples: [3],
  }),
  CreatedAt: time('When it was added'),
  GiveUp: orNull(
    Type.Number({ examples: [259_200] }),
    'Seconds that a delivery may fail until it is set aside; null for as long as it takes',
  ),
  HasCA: Type.Boolean({ description: 'Whether it has a certificate authority of its own' }),
  Cursor: Type.String({
    description:
      'A cursor of the feed, up to which everything is confirmed, waits, is set aside or is not for this endpoint',
    examples: [CURSOR],
  }),
})

const Secret = Type.String({ description: 'Verifies signatures; shown only now', examples: [SECRET] })

export const EndpointsSchema = Type.Object({
  Endpoints: Type.Array(EndpointSchema, { description: 'The oldest first' }),
})
export const ChangedEndpointSchema = named('ChangedEndpoint', { Endpoint: EndpointSchema })
export const EndpointWithSecretSchema = named('EndpointWithSecret', { Endpoint: EndpointSchema, Secret })
export const ReplayedSchema = Type.Object({
  Endpoint: EndpointSchema,
  Deliveries: Type.Integer({ description: 'At most this many deliveries are sent again', examples: [1] }),
})
export const RemovedEndpointSchema = Type.Object({ EndpointID })

const ReceiptID = orNull(Type.String({ examples: [RECEIPT_ID] }), 'Null if the delivery was removed since')
const ERROR = 'connection refused'
const delivery = {
  ReceiptID,
  Failures: Type.Integer({ description: 'Attempts that failed', examples: [4] }),
  FirstFailedAt: orNull(time('When it failed first'), 'Null for never'),
  Error: orNull(Type.String({ examples: [ERROR] }), 'Why it failed last'),
}

export const ShownEndpointSchema = Type.Object({
  Endpoint: EndpointSchema,
  Failing: Type.Array(
    Type.Object({ ...delivery, NextTryAt: orNull(time('When it is tried again'), 'Null if it waits for others') }),
    { description: 'Deliveries that failed and are tried again, the oldest first; at most 100' },
  ),
  SetAside: Type.Array(Type.Object({ ...delivery, SetAsideAt: time('When it was set aside') }), {
    description: 'Deliveries that are not tried again, the oldest first; at most 100',
  }),
})

const AttemptSchema = named('Attempt', {
  At: time('When it began'),
  ReceiptID: orNull(
    Type.String({ examples: [RECEIPT_ID] }),
    'The delivery; null for a test, or if it was removed since',
  ),
  Test: Type.Boolean({ description: 'Whether an operator sent a test', examples: [false] }),
  Status: orNull(Type.Integer({ examples: [500] }), 'The status of the answer; null if none came'),
  Error: orNull(Type.String({ examples: ['status 500'] }), 'Why it failed; null for a success'),
  Milliseconds: Type.Number({ description: 'How long it took', examples: [12] }),
  Response: orNull(
    Type.String({ examples: ['out of order'] }),
    'The beginning of the body of the answer, at most 1 KiB, without secrets that were sent; null, too, for a read-only operator, for a test of a host that TESLIM_WEBHOOK_ALLOW may name',
  ),
  NextTryAt: orNull(time('When the delivery was to be tried again'), 'Null for a test or a success'),
})

export const AttemptsSchema = Type.Object({
  Attempts: Type.Array(AttemptSchema, {
    description: 'Failures of the last day, and tests, the newest first; at most 500. Successes are only counted',
  }),
  Minutes: Type.Array(
    Type.Object({
      Minute: time('The beginning of the minute'),
      Succeeded: Type.Integer({ examples: [240] }),
      Failed: Type.Integer({ examples: [1] }),
      LongestMilliseconds: Type.Number({ description: 'The slowest attempt', examples: [31] }),
    }),
    { description: 'The minutes of the last day that had an attempt, the oldest first' },
  ),
})

export const TestedSchema = Type.Object({ Attempt: AttemptSchema })

export const EndpointParamsSchema = Type.Object({
  endpointId: Type.String({ description: 'The EndpointID of an endpoint', examples: [ENDPOINT_ID] }),
})

export const NewEndpointSchema = Type.Object(
  {
    URL: Type.String({
      minLength: 1,
      description:
        'Where deliveries are sent: https, unless TESLIM_WEBHOOK_ALLOW names host and port; at most 2,048 characters',
      examples: [URL_EXAMPLE],
    }),
    Customer: Type.Optional(
      Type.Union([Type.String({ minLength: 1, examples: ['shop@example.com'] }), Type.Null()], {
        title: 'an e-mail address or an id, or null',
        description:
          'Only deliveries of this customer, by id or e-mail address; of all customers if it is null or missing',
      }),
    ),
    Statuses: Type.Optional(
      Type.Union([Type.Array(Status, { minItems: 1, maxItems: 4 }), Type.Null()], {
        title: 'a list of one to four whole numbers from 0 to 3, or null',
        description: 'Only deliveries with one of these Statuses; with any if it is null or missing',
      }),
    ),
    Duplicates: Type.Optional(Type.Boolean({ default: true, description: 'Whether duplicates are sent, too' })),
    From: Type.Optional(
      Type.String({
        minLength: 1,
        default: 'now',
        description:
          'Where to begin: now, start (the first delivery that there is), a cursor of the feed, or a time, from which deliveries of up to five minutes before may come, too',
        examples: ['2026-11-21T00:00:00Z'],
      }),
    ),
    GiveUpSeconds: Type.Optional(
      Type.Union(
        [
          Type.Integer({ minimum: SHORTEST_GIVE_UP_SECONDS, maximum: LONGEST_GIVE_UP_SECONDS, examples: [259_200] }),
          Type.Null(),
        ],
        {
          title: `a whole number from ${SHORTEST_GIVE_UP_SECONDS} to ${LONGEST_GIVE_UP_SECONDS}, or null`,
          description:
            'How long a delivery may fail until it is set aside; as long as it takes if it is null or missing',
        },
      ),
    ),
    CA: Type.Optional(
      Type.Union(
        [
          Type.String({ minLength: 1, examples: ['-----BEGIN CERTIFICATE-----\n...\n-----END CERTIFICATE-----\n'] }),
          Type.Null(),
        ],
        {
          title: 'certificates in PEM, or null',
          description:
            'The certificate authority of the endpoint, in PEM; those that Node trusts if it is null or missing',
        },
      ),
    ),
  },
  { additionalProperties: false },
)

export const ReplaySchema = Type.Object(
  {
    From: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'Everything from here on: start, a cursor of the feed, or a time. What was not sent yet is not skipped',
        examples: ['2026-11-21T00:00:00Z'],
      }),
    ),
    ReceiptID: Type.Optional(Type.String({ minLength: 1, description: 'One delivery', examples: [RECEIPT_ID] })),
    SetAside: Type.Optional(Type.Literal(true, { title: 'true', description: 'Everything that is set aside' })),
  },
  { additionalProperties: false },
)

export const SecretRotationSchema = Type.Object(
  {
    OverlapHours: Type.Number({
      minimum: 0,
      maximum: LONGEST_OVERLAP_HOURS,
      title: `a number from 0 to ${LONGEST_OVERLAP_HOURS}`,
      description: 'How long the old secret signs, too; 0 ends it immediately',
      examples: [24],
    }),
  },
  { additionalProperties: false },
)

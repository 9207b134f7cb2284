import { Type } from '@sinclair/typebox'
import { closed, filter, orNull, RECEIPT_ID, text } from '#src/lib/json/schema-parts.ts'
import { MAX_GIVE_UP_SECONDS, MAX_OVERLAP_HOURS, MIN_GIVE_UP_SECONDS } from '../limits.ts'
import { customerOfOrder, ENDPOINT_ID, Status, URL_EXAMPLE } from './endpoints.schema.ts'

export const EndpointParamsSchema = Type.Object({ endpointId: text('The EndpointID of an endpoint', ENDPOINT_ID) })

const URL_TEXT =
  'Where deliveries are sent: https, unless TESLIM_WEBHOOK_ALLOW names host and port; at most 2,048 characters'
const EndpointUrl = Type.String({ minLength: 1, description: URL_TEXT, examples: [URL_EXAMPLE] })

/** What a new endpoint has, and what a change sets. `none` says what null means. */
const settings = (none: string) => ({
  Customer: Type.Optional(
    Type.Union([Type.String({ minLength: 1, examples: ['shop@example.com'] }), Type.Null()], {
      title: 'an e-mail address or an id, or null',
      description: `Only deliveries of this customer, by id or e-mail address; of all customers if it is ${none}`,
    }),
  ),
  Statuses: Type.Optional(
    Type.Union([Type.Array(Status, { minItems: 1, maxItems: 4 }), Type.Null()], {
      title: 'a list of one to four whole numbers from 0 to 3, or null',
      description: `Only deliveries with one of these Statuses; with any if it is ${none}`,
    }),
  ),
  GiveUpSeconds: Type.Optional(
    orNull(
      Type.Integer({ minimum: MIN_GIVE_UP_SECONDS, maximum: MAX_GIVE_UP_SECONDS, examples: [259_200] }),
      `How long a delivery may fail until it is set aside; as long as it takes if it is ${none}`,
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
        description: `The certificate authority of the endpoint, in PEM; those that Node trusts if it is ${none}`,
      },
    ),
  ),
})

const newSettings = settings('null or missing')

export const NewEndpointSchema = closed({
  URL: EndpointUrl,
  Customer: newSettings.Customer,
  Statuses: newSettings.Statuses,
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
  GiveUpSeconds: newSettings.GiveUpSeconds,
  CA: newSettings.CA,
})

export const EndpointChangeSchema = closed({
  URL: Type.Optional(EndpointUrl),
  ...settings('null'),
  Duplicates: Type.Optional(Type.Boolean({ description: 'Whether duplicates are sent, too' })),
  Headers: Type.Optional(
    Type.Unsafe<Record<string, string | null>>(
      Type.Object(
        {},
        {
          additionalProperties: Type.Union([Type.String(), Type.Null()], { title: 'a string or null' }),
          description:
            'Headers that every request to the endpoint has from now on, by name in any letter case; null removes one, and others stay. At most 8 in all, each with 1 to 4,096 printable ASCII characters. No answer has their values',
          examples: [{ Authorization: 'Bearer from-the-gateway', 'X-Former': null }],
        },
      ),
    ),
  ),
})

export const ReplaySchema = closed({
  From: filter(
    'A stretch from here on: start, a cursor of the feed, or a time, from which deliveries of up to five minutes before may come, too',
    '2026-11-21T00:00:00Z',
  ),
  To: filter(
    'The end of the stretch: a cursor of the feed, or a time; what was not sent yet is sent anyway',
    '2026-11-22T00:00:00Z',
  ),
  Statuses: Type.Optional(
    Type.Array(Status, { minItems: 1, maxItems: 4, description: 'Only deliveries with one of these Statuses' }),
  ),
  OrderID: filter('Only deliveries of this order, all at once', 'PO-1'),
  Customer: customerOfOrder,
  ReceiptID: filter('One delivery', RECEIPT_ID),
  SetAside: Type.Optional(Type.Literal(true, { title: 'true', description: 'Everything that is set aside' })),
  Cancel: Type.Optional(
    Type.Literal(true, {
      title: 'true',
      description: 'Ends the stretch that is under way; what waits already is sent',
    }),
  ),
})

export const SecretRotationSchema = closed({
  OverlapHours: Type.Number({
    minimum: 0,
    maximum: MAX_OVERLAP_HOURS,
    description: 'How long the old secret signs, too; 0 ends it within a second',
    examples: [24],
  }),
})

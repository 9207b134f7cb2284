import { Type } from '@sinclair/typebox'
import { MAX_SILENCE, MIN_SILENCE } from '#src/lib/duration.ts'
import {
  CUSTOMER_ID,
  closed,
  count,
  flag,
  limit,
  named,
  nextCursor,
  oneOf,
  orNull,
  text,
  time,
} from '#src/lib/json/schema-parts.ts'
import { CustomerSchema, KEY_ID, KeySchema, ScopeSchema } from '../customer.schema.ts'
import { ROLES, WARNINGS } from './directory.rule.ts'

export const DEFAULT_LIMIT = 100
export const MAX_IDS = 100
const MAX_RULES = 1000
/** As TESLIM_RATE_LIMIT. */
const HIGHEST_RATE = 1_000_000
/** A year. */
const MAX_OVERLAP_HOURS = 8784
const SILENCE_SECONDS =
  'After how many seconds without a use of its keys it is silent: 0 for never, null for what TESLIM_SILENCE says'

export const CustomersQuerySchema = closed({
  search: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 254,
      title: 'a text of at most 254 characters',
      description:
        'Part of name, note or e-mail address, or the beginning of the id; letter case does not count for A to Z',
      examples: ['shop'],
    }),
  ),
  role: Type.Optional(
    oneOf(ROLES, {
      description:
        'api: may log in; operator: every operator; readOnly: read-only operators; support: operators for support; feed: followers of the feed; supplier: neither logs in nor operates; removed: removed customers',
    }),
  ),
  enabled: Type.Optional(oneOf(['true', 'false'], { description: 'Whether the customer is enabled' })),
  ids: Type.Optional(
    Type.String({
      minLength: 1,
      description: `Only these customers, and no other parameter: up to ${MAX_IDS} ids, separated by commas. Unknown ones are left out.`,
      examples: [CUSTOMER_ID],
    }),
  ),
  limit: limit(DEFAULT_LIMIT, 'customers'),
  cursor: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f-]{36}$',
      title: 'the NextCursor of an answer',
      description: 'NextCursor of an answer to the same address with the same parameters',
      examples: [CUSTOMER_ID],
    }),
  ),
})

const { CustomerID, Regions, AuthorityRules } = CustomerSchema.properties

const OperatedCustomerSchema = named('Customer', {
  CustomerID,
  Email: text('For a removed customer `removed:` and its id', 'shop@example.com'),
  Name: text('What people call it; empty for no name', 'Kitap A.Ş.'),
  Note: text('What operators wrote about it; empty for none', 'calls back after ten'),
  IsAPI: Type.Boolean({ description: 'Whether it may log in' }),
  Scope: ScopeSchema,
  SeesPayloads: flag('Whether its tokens read payloads', true),
  IsOperator: flag('Whether it is an operator, of any kind', false),
  IsReadOnly: flag('Whether it is an operator who may not change anything', false),
  IsEnabled: Type.Boolean({ description: 'Whether its tokens and keys work' }),
  DisabledReason: text('Why it is disabled; empty if nobody said', ''),
  IsRemoved: flag('Whether nothing but the id is left', false),
  Regions,
  AuthorityRules,
  CreatedAt: time('When it was added'),
  Keys: named('KeyCounts', {
    Live: count('API keys that work', 2),
    ExpiringSoon: count('Those that expire within 14 days, and no other key took their place', 1),
  }),
  LastUsedAt: orNull(time('When one of its keys was used last'), 'Null for never; known a few seconds later'),
  SilenceSeconds: Type.Union([Type.Integer({ minimum: 0, examples: [21_600] }), Type.Null()], {
    description: SILENCE_SECONDS,
  }),
  SilentSince: orNull(
    time('When one of its keys was used last, or its first key was made if none ever was'),
    'Null unless the customer is silent',
    { examples: [null] },
  ),
  Warnings: Type.Array(oneOf(WARNINGS, { title: 'Warning', examples: ['KEY_EXPIRES_SOON'] }), {
    description: 'What somebody should look after; none for a customer that is disabled',
  }),
})

const OperatedKeySchema = named('ApiKey', {
  ...KeySchema.properties,
  CustomerID: text('The customer of the key', CUSTOMER_ID),
  SuccessorID: Type.Union([Type.String(), Type.Null()], {
    examples: [null],
    description: 'The key that replaced this one when it was rotated',
  }),
  ExpiresSoon: flag('Whether the key works, but expires within 14 days', false),
})

export const CustomersSchema = Type.Object({
  Customers: Type.Array(OperatedCustomerSchema, { description: 'The oldest first' }),
  NextCursor: nextCursor(CUSTOMER_ID),
})

export const CustomerWithKeysSchema = Type.Object({
  Customer: OperatedCustomerSchema,
  Keys: Type.Array(OperatedKeySchema, { description: 'The oldest first' }),
})

export const ChangedCustomerSchema = named('ChangedCustomer', { Customer: OperatedCustomerSchema })

export const AddedCustomerSchema = Type.Object({
  Customer: OperatedCustomerSchema,
  Password: Type.Union([Type.String({ examples: ['9aXbQ2mLr7TtVwYc3ZdEfGhK'] }), Type.Null()], {
    description: 'The generated password, shown only now; null if the request had one',
  }),
})

const ApiKey = text('The key itself, shown only now', 'tsl_0123456789ABCDEFGHIJKLMNOPQRSTUV2Gfmpl')

export const IssuedKeySchema = Type.Object({ Key: OperatedKeySchema, ApiKey })
export const RotatedKeySchema = Type.Object({ Key: OperatedKeySchema, ApiKey, Replaced: OperatedKeySchema })
export const RevokedKeySchema = Type.Object({ Key: OperatedKeySchema })

export const CustomerParamsSchema = Type.Object({ customerId: CustomerID })
export const KeyParamsSchema = Type.Object({ keyId: text('The KeyID of an API key', KEY_ID) })

const rules = (description: string) =>
  Type.Array(Type.String({ examples: ['SKU-*'] }), {
    maxItems: MAX_RULES,
    title: `a list of at most ${MAX_RULES} rules`,
    description,
  })

const WORDS = {
  Name: Type.Optional(text('What people call it: at most 100 characters', 'Kitap A.Ş.')),
  Note: Type.Optional(text('What operators should know: at most 1000 characters', 'calls back after ten')),
}

/** False unless it is said. */
const unlessSaid = (description: string) => Type.Optional(Type.Boolean({ default: false, description }))

export const NewCustomerSchema = closed({
  Email: text('With it the customer logs in', 'shop@example.com'),
  ...WORDS,
  Password: Type.Optional(text('One is generated if it is missing', 'correct horse battery staple')),
  IsAPI: unlessSaid('Whether it may log in'),
  Scope: Type.Optional(ScopeSchema),
  SeesPayloads: unlessSaid('Whether an operator for support sees payloads; for no other scope'),
  IsOperator: unlessSaid('Whether it is an operator; not beside Scope'),
  IsReadOnly: unlessSaid('Whether it is an operator that may only read; not beside Scope'),
  Regions: Type.Optional(
    Type.Array(Type.String({ examples: ['TR'] }), {
      maxItems: 676,
      title: 'a list of at most 676 regions',
      default: ['TR'],
      description: 'The regions it may log in to: two letters each',
    }),
  ),
  AuthorityRules: Type.Optional(
    rules('What its keys may deliver: product codes, prefixes such as ABC-*, or * for all. None if it is missing.'),
  ),
})

export const CustomerChangeSchema = closed(
  {
    ...WORDS,
    SilenceSeconds: Type.Optional(
      Type.Union(
        [
          Type.Literal(0),
          Type.Integer({ minimum: MIN_SILENCE / 1000, maximum: MAX_SILENCE / 1000, examples: [21_600] }),
          Type.Null(),
        ],
        {
          title: `0, a whole number from ${MIN_SILENCE / 1000} to ${MAX_SILENCE / 1000}, or null`,
          description: SILENCE_SECONDS,
        },
      ),
    ),
  },
  { minProperties: 1 },
)

/** A request without a body says no reason. */
export const DisablingSchema = closed(
  {
    Reason: Type.Optional(
      text('Why: at most 500 characters. A former one stays if it is missing.', 'sends test orders'),
    ),
  },
  { default: {} },
)

export const RulesSchema = closed({
  Rules: rules('Authority rules: product codes, prefixes such as ABC-*, or * for all'),
})

const MOMENT = { format: 'date-time', examples: ['2027-11-21T00:00:00Z'] }

export const NewKeySchema = closed({
  Label: text('What the key is for', 'erp'),
  ExpiresAt: Type.Optional(
    Type.Union([Type.String(MOMENT), Type.Null()], {
      title: 'a time such as 2027-11-21T00:00:00Z, or null',
      description: 'When the key stops working; never if it is null or missing',
    }),
  ),
  Networks: Type.Optional(
    Type.Union(
      [Type.Array(Type.String({ examples: ['203.0.113.0/24'] }), { minItems: 1, maxItems: 1000 }), Type.Null()],
      {
        title: 'a list of one network or more, or null',
        description: 'The only addresses and networks from which the key works; any if it is null or missing',
      },
    ),
  ),
  RateLimit: Type.Optional(
    Type.Union([Type.Integer({ minimum: 0, maximum: HIGHEST_RATE, examples: [600] }), Type.Null()], {
      description: 'Deliveries a minute, 0 for no limit; that of the server if it is null or missing',
    }),
  ),
})

export const RotationSchema = closed({
  OverlapHours: Type.Number({
    minimum: 0,
    maximum: MAX_OVERLAP_HOURS,
    description: 'How long the old key still works; 0 ends it within a second',
    examples: [24],
  }),
  ExpiresAt: Type.Optional(
    Type.String({
      ...MOMENT,
      title: 'a time such as 2027-11-21T00:00:00Z',
      description: 'When the new key stops working; it has the lifetime of the old one if this is missing',
    }),
  ),
})

import { Type } from '@sinclair/typebox'
import {
  CUSTOMER_ID,
  CustomerName,
  closed,
  named,
  oneOf,
  orNull,
  RECEIPT_ID,
  text,
} from '#src/lib/json/schema-parts.ts'
import { KINDS, MAX_MATCHES, MAX_TEXT } from './find.rule.ts'

export const FindSchema = closed({
  Text: Type.String({
    maxLength: MAX_TEXT,
    title: `a text of at most ${MAX_TEXT} characters`,
    description:
      'A receipt, refusal, API key or customer by its id, or by its beginning if no other one begins so; an order by its id or, from four characters on, the beginning of it, in the case as sent; a request by its whole id (one that delivered something only if the service made the id); a customer by a part of name, note or e-mail address; an API key by a part of its label. White space around it does not count. What looks like an API key, a secret or a token is refused.',
    examples: ['PO-1'],
  }),
})

const MatchSchema = named('Match', {
  Kind: oneOf(KINDS, { description: 'What was found' }),
  ID: text('Its id', RECEIPT_ID),
  CustomerID: orNull(
    Type.String({ examples: [CUSTOMER_ID] }),
    'The customer that it belongs to; null if there is none',
  ),
  Customer: CustomerName,
  Text: text(
    'The order id of a delivery or order, name and e-mail address of a customer, the label of a key, or the error code of a refusal or request; may be empty',
    'PO-1',
  ),
  RefusedOnly: Type.Optional(Type.Boolean({ description: 'true if every delivery of the order was refused' })),
})

export const MatchesSchema = Type.Object({
  Matches: Type.Array(MatchSchema, { maxItems: MAX_MATCHES, description: `At most ${MAX_MATCHES}` }),
})

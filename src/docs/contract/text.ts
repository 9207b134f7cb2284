import type { Config } from '#src/config/load-config.ts'
import { headersSeconds } from '#src/http/server-options.ts'
import { STATUS_MEANINGS } from '#src/purchase/status.ts'

const meanings = STATUS_MEANINGS.map((meaning, status) => `| ${status} | The purchase order has been ${meaning}. |`)
  .join('\n')
  .replace('has been being', 'is being')

/** By `TESLIM_PURCHASE_BEARER`. */
const BEARER = {
  optional: 'A token sent with a delivery must be valid and belong to the customer of the key.',
  required: 'A delivery needs a token, too, which must be valid and belong to the customer of the key.',
  ignored: 'A token sent with a delivery is ignored.',
}

/** By `TESLIM_FIELD_CASE`. */
const FIELD_CASE = {
  any: 'So are the fields of the login and `Status`.',
  exact: 'The fields of the login and `Status` must be spelled exactly as shown here.',
}

const NO_PAGES = `teslim sends no CORS headers, so a web page of another origin cannot call it. That is deliberate: an API key or a password in
a page is readable by everyone who opens the page. Call teslim from a server.`
const SOME_PAGES = `Pages of the origins that the operator named may send GET and HEAD to \`/Purchase/\`, \`/Supplier/\`, \`/Customer/\`, the key set and
this contract, with a token or key of their own, and no cookies. They can never log in or deliver.`

/** What holds for every operation of a server with these settings, as Markdown. */
export function contractText(config: Config): string {
  const { purchaseBearer, fieldCase, corsOrigins, requestTimeoutSeconds } = config
  return `Takes in what suppliers report about purchase orders, and gives API customers the tokens to read it.

### Answers

Every JSON answer is \`{ data, success, message }\`, except the key set, the payload of a delivery and this contract. A refusal
has \`data: null\`, \`success: false\`, a \`message\` for people, a stable \`errorCode\` for programs, the \`requestId\` that finds the
request in the log, and for an invalid request \`errors\`, which name each wrong field. The header \`x-request-id\` has the same id: the one the
request carried in this header, or a new one.

### Status of a purchase order

| Status | Meaning |
|---|---|
${meanings}

### Credentials

Suppliers deliver with an API key in the \`ApiKey\` header. API customers log in and send the token as \`Authorization: Bearer\`; when it
expires, they log in again. ${BEARER[purchaseBearer]}
Keys and tokens in the address are ignored.

### Retries

A request that does not arrive within ${requestTimeoutSeconds} seconds (its headers: ${headersSeconds(config)}) is answered 408.
After 408, 429 and any 5xx send the same request again, after \`Retry-After\` seconds if the answer has that header. A delivery is safe
to repeat with the same \`Idempotency-Key\`.

### Browsers

${corsOrigins.length === 0 ? NO_PAGES : SOME_PAGES}

### Caching and compression

- **HEAD** answers like GET, without the body. **OPTIONS** answers 204, with the methods in \`Allow\`.
- **ETag:** these answers have a weak one: a delivery, its payload, an order, a list of orders, the customer of the token, the key set and
  this contract. An answer above 1 MiB has none. Send it as \`If-None-Match\`: while nothing has changed,
  the answer is 304 without a body. \`Cache-Control: no-store\` tells caches to keep nothing; your own program may keep what it has read.
- **Compression:** with \`Accept-Encoding: gzip\` or \`br\` answers to GET are compressed from 1 KiB on. Never compressed are event
  streams, answers to an operator with data of several customers, the login, deliveries and refusals.

### What is tolerated

- **Letter case:** paths, header names and query parameters are case-insensitive. ${FIELD_CASE[fieldCase]}
  A field sent twice, in one spelling or two, is refused. Answers use the spelling shown here.
- **Trailing slash:** allowed on every path.
- **Byte order mark:** allowed before a body. Bytes that are not UTF-8 are refused.
- **Content-Type:** the login takes \`application/json\`, \`application/*+json\` and \`text/json\`, with any parameters. A delivery is
  read as JSON under any Content-Type, or none. A GET may have any.
- **Query parameters:** an empty one counts as not sent. Unknown ones are refused where orders and deliveries are read, and ignored elsewhere.
- **Unknown fields:** kept byte for byte in deliveries, ignored in logins.
- **Types:** nothing is converted. \`"1"\` is not an integer; \`1.0\` is.`
}

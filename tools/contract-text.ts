import { STATUS_MEANINGS } from '#src/purchase/status.ts'

const meanings = STATUS_MEANINGS.map((meaning, status) => `| ${status} | The purchase order has been ${meaning}. |`)
  .join('\n')
  .replace('has been being', 'is being')

/** What holds for every operation, as Markdown. */
export const CONTRACT_TEXT = `Token login for API customers and purchase-order deliveries from suppliers.

**Envelope.** Every JSON answer but the key set and the bare payload of a delivery is \`{ data, success, message }\`. A refusal has \`data: null\`,
\`success: false\`, a \`message\` for people, an \`errorCode\` for programs, which is stable, the \`requestId\` that names it in
the log, and \`errors\` that say where a payload is wrong. Each status of each operation lists the codes it may carry.
Every answer has that id in \`x-request-id\`: the one that was sent in this header, or a new one.

**Status** of a purchase order delivery:

| Status | Meaning |
|---|---|
${meanings}

**Credentials.** Log in once and send the token as \`Authorization: Bearer\` on every other request; when it expires, log in
again. Deliveries carry a key in the \`ApiKey\` header; where a token is sent with it, and is looked at, it must be valid and of the
same customer. Neither is ever taken from the address.

**What is tolerated.**

- Letter case: paths, header names and query parameters may be spelled in any; so may the contract's fields in bodies (those of the login,
  and \`Status\`), unless the service is set to exact spelling. A field sent twice, in one spelling or two, is refused. Answers use the spelling shown here.
- Trailing slash: it may end any path.
- Byte order mark: a body may begin with one. Bytes that are not UTF-8 are refused.
- Content-Type: the login takes \`application/json\`, \`application/*+json\` and \`text/json\`, with any parameters. A delivery is
  read as JSON whatever it says, or when there is none. On a GET it does no harm.
- Query parameters that are sent empty count as not sent.
- Query parameters that are not shown here are refused by what reads orders and deliveries, and ignored elsewhere.
- Fields that are not shown here are kept in deliveries, byte for byte, and ignored in logins.
- Nothing is converted: \`"1"\` is no integer, while \`1.0\` is one.

**Retrying.** 408, 429 and 503 say that the same request may succeed later, the last two after \`Retry-After\` seconds. A
delivery is safe to repeat with the same \`Idempotency-Key\`.`

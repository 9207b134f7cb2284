/** Messages of refusals, those without values under their error code; and reasons of refusals. */
export const refusals = {
  // What any request may get
  BAD_REQUEST: 'The request is not valid HTTP.',
  HOST_COUNT: 'The request must carry exactly one Host header.',
  HOST_MALFORMED: 'The Host header is not a host name or address.',
  HTTP_VERSION_NOT_SUPPORTED: 'The request must be HTTP/1.1 or HTTP/1.0.',
  UNSUPPORTED_TRANSFER_ENCODING: 'The Transfer-Encoding header may only be chunked, and only in HTTP/1.1.',
  NO_TUNNEL: 'This is not a proxy: CONNECT is not allowed.',
  TOKEN_MISSING: 'A bearer token is needed: log in and send it as Authorization: Bearer TOKEN.',
  NOT_BEARER: 'The Authorization header must be "Bearer", a space and a token.',
  EXPECTATION_NOT_MET: 'The Expect header may only be 100-continue.',
  NOT_FOUND: 'There is nothing at this address.',
  METHOD_NOT_ALLOWED: 'This address does not allow this method.',
  REQUEST_TIMEOUT: 'The request did not arrive in time.',
  BODIES_OVERLOADED:
    'The service is receiving more than it can hold right now. Nothing was stored; send the request again.',
  ANSWERS_OVERLOADED:
    'More answers wait to be read than the service can hold. Read those you asked for, then send the request again.',
  CONNECTIONS_OVERLOADED:
    'More connections are open than the service holds. Use fewer, keep them open, and send the request again.',
  OVERLOADED: 'The service has more to do than it can right now. Nothing was stored; send the request again.',
  UNSUPPORTED_MEDIA_TYPE: 'The Content-Type must be JSON, such as application/json.',
  UNSUPPORTED_CONTENT_ENCODING: 'The body must be sent uncompressed, without a Content-Encoding.',
  HEADERS_TOO_LARGE:
    'The address and headers of the request are larger than 16 KiB, or there are 1000 headers or more.',
  PAGE_NOT_BUILT:
    'This page is not built: the checkout has no esbuild. Run `npm ci`, or `npm run build` and start what it makes in `dist`.',
  STOPPING: 'Not ready: the service was told to stop. Send requests to another replica.',
  INTERNAL: 'Something went wrong in the service. Its log has the details under this requestId.',

  // The body
  BODY_MISSING: 'The request needs a JSON object as its body.',
  BODY_NOT_UTF8: 'The body is not valid UTF-8.',
  BODY_NOT_JSON: 'The body is not valid JSON.',
  BODY_TOO_DEEP: 'The body nests deeper than 64 levels.',
  FORBIDDEN_KEY: 'The body uses a key that is not allowed: __proto__ or constructor.prototype.',
  BODY_TOO_LARGE: 'The body is larger than allowed.',
  INVALID_REQUEST: 'The request is not valid.',

  // Tokens and operators
  TOKEN_MALFORMED: 'The token is not a valid access token.',
  TOKEN_ALGORITHM: 'The token is signed with another algorithm.',
  TOKEN_KEY_UNKNOWN: 'The token is signed with an unknown key.',
  TOKEN_SIGNATURE: 'The signature of the token is wrong.',
  TOKEN_ISSUER: 'The token was issued by another service.',
  TOKEN_AUDIENCE: 'The token is meant for another service.',
  TOKEN_CLAIMS: 'The token lacks a claim or has a wrong one.',
  TOKEN_NOT_YET_VALID: 'The token is not valid yet.',
  TOKEN_EXPIRED: 'The token has expired: log in again.',
  TOKEN_REVOKED: 'The token has been revoked: log in again.',
  OPERATOR_REQUIRED: 'Only operators may do this: log in as an operator.',
  OPERATOR_READ_ONLY: 'A read-only operator may not change anything.',
  OPERATOR_FOR_SUPPORT: 'An operator for support may not see this.',
  REAUTHENTICATION_REQUIRED: 'The password was entered more than 15 minutes ago: enter it again.',
  FEED_ONLY: 'This token is only for the feed and for deliveries by their receipts.',
  PAYLOADS_NOT_ALLOWED: 'An operator for support may not see payloads, nor search in them.',

  // Signing keys
  SIGNING_KEY_CANNOT_OPEN: 'The signing keys cannot be used.',
  SECRET_MISSING:
    'There is nothing to encrypt with: set TESLIM_SECRET to at least 16 characters, or TESLIM_SECRET_FILE to a file that holds them.',
  SIGNING_KEY_CHANGED:
    'Other processes kept changing the signing keys at the same time. Nothing was done; run the command again.',

  // Login
  LOGIN_REFUSED: 'The e-mail address, the password or the region is not valid for API access.',
  LOGIN_PASSWORD_UNUSABLE: 'Password must be at most 1024 bytes of valid Unicode.',
  LOGIN_THROTTLED: 'Too many failed logins: try again later.',
  LOGIN_OVERLOADED: 'Too many logins are waiting to be checked: try again in a moment.',
  CLIENT_GONE: 'The client disconnected before its password was checked.',
  AUTHORIZATION_NOT_ALLOWED: 'This endpoint is anonymous: drop the Authorization header and send the request again.',

  // Customers and API keys
  EMAIL_INVALID: 'The e-mail address is not valid.',
  EMAIL_TAKEN: 'A customer with this e-mail address exists already.',
  NAME_INVALID: 'A name is at most 100 characters, without control or invisible characters.',
  NOTE_INVALID: 'A note is at most 1000 characters, without control characters other than line breaks.',
  REASON_INVALID: 'A reason is at most 500 characters in one line, without control characters.',
  REGION_INVALID: 'A region is two letters, such as TR.',
  AUTHORITY_RULE_INVALID: 'An authority rule is a product code, a prefix such as ABC-*, or * alone.',
  AUTHORITY_RULE_MISSING: 'The customer has no such rule.',
  PASSWORD_SHORT: 'The password needs at least 8 characters.',
  PASSWORD_UNUSABLE: 'The password must be at most 1024 bytes of valid Unicode.',
  PASSWORD_COMMON:
    'The password is among the most used ones, with or without digits and signs at its end; choose another.',
  PASSWORD_GUESSABLE:
    'The password has the e-mail address, a part of it or the word teslim, and too little beside that; choose another.',
  LABEL_INVALID: 'A label is at most 100 characters, without control or invisible characters.',
  NETWORK_INVALID: 'A network is an address, or a prefix such as 203.0.113.0/24 or 2001:db8::/32.',
  API_KEY_NOT_FOUND: 'There is no such API key.',
  API_KEY_ENDED: 'The API key has expired or was revoked.',
  API_KEY_ROTATED: 'The API key has been rotated already.',
  CUSTOMER_REMOVED: 'The customer was removed.',
  READ_ONLY_ALONE: 'Only an operator can be read-only.',
  SUPPORT_ALONE: 'Only an operator can be for support.',
  PAYLOADS_ALONE: 'Payloads can be given to operators for support only.',
  ROLES_TOGETHER: 'A customer can only have one of these roles: read-only operator, operator for support, feed only.',
  CUSTOMER_NOT_FOUND: 'There is no such customer.',
  OPERATOR_SELF:
    'Operators cannot disable themselves or revoke their own tokens here: ask another operator, or use the command line.',

  // Deliveries and orders
  API_KEY_MISSING: 'The ApiKey header is missing.',
  API_KEY_INVALID: 'The API key is not valid.',
  TOKEN_FOREIGN: 'The token belongs to another customer than the API key.',
  RATE_LIMITED: 'This API key has reached its limit of deliveries a minute.',
  PRODUCT_NOT_AUTHORIZED: 'The API key may not deliver these products.',
  ORDER_NOT_FOUND: 'There is no such order.',
  ORDER_AMBIGUOUS:
    'Several customers have an order with this id: name one of them with ?customer=, by id or e-mail address.',
  DELIVERY_NOT_FOUND: 'There is no such delivery.',
  REFUSAL_NOT_FOUND: 'There is no such refusal, or its body was not kept.',
  CURSOR_PURGED: 'Deliveries that follow this cursor were removed because of their age.',
  DELIVERIES_LOST: 'This cursor lies among deliveries that a failover or a recovery of the database lost.',
  RANGE_INVALID: 'The range of time is not valid.',
  PAYLOAD_ERASED: 'The payload of this delivery was erased.',
  ERASE_FORBIDDEN: 'The database role of this server may not erase deliveries, so nothing was changed.',
  ERASE_FORBIDDEN_RUN:
    'The database role of this server may not erase deliveries, so nothing was changed. Run "{command}" with the DATABASE_URL of the owner of the tables, or let the owner grant what deploy/postgres/service-role.sql says about erasing.',
  CURSOR_INVALID:
    'The cursor does not belong to this address with these filters, or lies in what a restored backup undid: send it unchanged with the same address and filters, or leave it out to start again.',

  // The store
  STORE_UNAVAILABLE: 'The service cannot reach its storage right now, so the request is not confirmed: send it again.',
  ACTION_NOT_DONE: 'Nothing was done, because it could not be written to the audit log.',
  ACTION_NOT_RECORDED:
    'This is done, but could not be written to the audit log: note it elsewhere, and do not do it again.',
  STORE_GONE: 'The store is no longer the one that was opened.',
  STORE_IN_USE: 'Another server works on this store.',
  STORE_OVERLOADED:
    'The service has more to store than it can take right now. Nothing was stored; send the request again.',
  IDEMPOTENCY_KEY_REUSED: 'This Idempotency-Key was used with another body before. Nothing was stored.',
  STORE_MISSING: 'The service has no storage right now. Nothing was stored; send the request again.',
  STORE_EMPTY: 'The service has no customers yet. Nothing was stored; send the request again.',
  STORE_CANNOT_OPEN: 'The store cannot be opened.',
  STORE_FOREIGN: 'The file belongs to another application.',
  STORE_FORBIDDEN:
    'The role of DATABASE_URL may not remove deliveries. Run this as the owner of the tables, or grant the role of deploy/postgres/service-role.sql what that file says about purging.',
  STORE_OLDER: 'The store was made by an older version of teslim.',
  STORE_OTHER_SCHEMA: 'The store was made by another version of teslim.',
  STORE_NEWER: 'The store was made by a newer version of teslim.',
  STORE_MOVED: 'The store was moved to another database.',

  // Webhooks and the console
  WEBHOOK_URL_INVALID: 'The URL of a webhook is https://HOST/PATH, without a user name and without a fragment.',
  WEBHOOK_ADDRESS_FORBIDDEN:
    'Webhooks are sent to public addresses, and to those that TESLIM_WEBHOOK_ALLOW names, with the port if it is not 443 (80 for http).',
  WEBHOOK_NOT_FOUND: 'There is no such endpoint, or it was removed.',
  WEBHOOK_TOO_MANY: 'There are 1,000 endpoints already: remove one that is no longer needed.',
  WEBHOOK_CA_INVALID: 'The certificate authority must be certificates in PEM, at most 64 KiB.',
  WEBHOOK_HEADER_INVALID: 'A header of the endpoint is not valid, or cannot be set.',
  WEBHOOK_DELIVERY_LEFT_OUT: 'The endpoint does not get deliveries with this Status, or does not get duplicates.',
  WEBHOOK_DELIVERY_PENDING: 'The delivery is still to be sent, or is being sent now: it needs no replay.',
  WEBHOOK_REPLAY_RUNNING: 'A replay of this endpoint is under way: wait for its end, or cancel it.',
  WEBHOOK_CHANGED: 'Others kept changing the endpoint at the same time: try again.',
  WEBHOOK_SECRET_CANNOT_OPEN: 'The secret of an endpoint cannot be opened: "teslim doctor" says why.',
  EXPORTS_FULL: 'Other lists are being exported. Try again in a moment.',
  SESSION_NEEDS_TLS: 'Without TLS there is no session that all tabs share: a cookie could be read on the way.',
  REQUEST_OF_OTHER_PAGE: 'Only the console itself may send this.',
  SESSION_ENDED: 'The session has ended: sign in again.',
  FOLLOWERS_FULL:
    'As many streams and waiting requests of your customer are open as this process serves. Close some, or try again later.',
  CONSOLES_FULL: 'As many live views are open as this process serves. Close one, or try again later.',

  // What is said of a refusal beyond its code
  PRODUCTS_NOT_ALLOWED: 'This API key may not deliver: {products:list}.',
  NO_PRODUCT_NAMED:
    'The delivery names no product at {places:list}; a delivery without a product needs an API key with the rule *.',
  RATE_LIMIT_REACHED:
    'This API key may make {limit} deliveries a minute. Nothing was stored; send the request again in {seconds} s.',
  LEAVE_TOKEN_OUT: '{refusal} The API key alone is enough: leave the Authorization header out.',
  INVALID_REQUEST_AT: 'The request is not valid: {problems:list;}.',
  INVALID_REQUEST_MEANT: 'The request is not valid: {problems:list;}',
  PROBLEMS: '{problems:list;}',
  SECRET_NOT_SEARCHED:
    'looks like an API key, a secret or a token, which are not searched for: search for the label of the key, or for the beginning of its id',
  REQUIRED: 'is required',
  SENT_TWICE: 'is sent more than once',
  TOO_LONG: 'is longer than {max} characters',
  NOT_AN_OBJECT: 'must be a JSON object',
  NOT_A_STRING: 'must be a string or null',
  NOT_A_STATUS: 'must be a whole number from 0 to 3',
  NOT_VISIBLE_ASCII: 'must be 1 to 255 visible ASCII characters',
  NO_ORDER_ID: 'holds no order id at {places:list}',
  MISSPELLED: 'was ignored: it looks like a misspelled {field}',
  PRODUCT_NOT_ALLOWED: 'product {product} is not allowed',
  EMPTY: 'must not be empty',
  NOT_A_WHOLE_NUMBER: 'must be a whole number from {min} to {max}',
  NOT_A_WHOLE_NUMBER_OR_NULL: 'must be a whole number from {min} to {max}, or null',
  NOT_A_NUMBER: 'must be a number from {min} to {max}',
  NOT_A_TIME: 'must be a time with its zone, such as 2026-11-21T09:00:00Z, or a day',
  A_CURSOR: 'a cursor',
  NOT_A_PLACE: 'must be {forms:list}, or a time with its zone',
  PAST: 'must be in the future',
  FUTURE: 'must not be in the future',
  NOT_A_NETWORK:
    'is not a network: write an address such as 203.0.113.7, or a prefix such as 203.0.113.0/24 or 2001:db8::/32',
  ADDRESS_HAS_ZONE: 'has a zone id, which has a meaning on one machine only: leave it out',
  PREFIX_LENGTH: 'has a wrong prefix length: from {min} to {max} is possible',
  ADDRESS_IN_NETWORK: 'names an address in a network: write {network} for the network, or the address alone',
  EVERY_ADDRESS: 'contains every address',
  ALLOW_EVERY_ADDRESS: '{network} contains every address: write "anywhere" for that.',
  WRONG_NETWORK: '{network} {problem}.',
  PROBLEM_AT: '{path} {problem}',
  BODY_PROBLEM: 'the body {problem}',
  REFUSALS_NOT_LISTED: 'Of the last minute {count} more refusals are not listed one by one: {codes:list}.',

  // Reasons, for operators
  KEY_UNKNOWN: 'unknown key',
  KEY_IS_REVOKED: 'key {key} is revoked',
  KEY_IS_EXPIRED: 'key {key} is expired',
  KEY_OF_OTHER_NETWORK: 'key {key} may not be used from {address}',
  CUSTOMER_IS_DISABLED: 'customer is disabled',
  TOKEN_BESIDE_KEY: 'invalid token beside a valid API key; TESLIM_PURCHASE_BEARER=ignored would ignore the token',
  NO_PRODUCT: 'names no product',
  EMAIL_UNKNOWN: 'unknown e-mail',
  LOGIN_DISABLED: 'disabled',
  LOGIN_NOT_API: 'not an API customer',
  LOGIN_WITHOUT_PASSWORD: 'no password',
  LOGIN_REGION: 'region not enabled',
  PASSWORD_WRONG: 'wrong password',
  OPERATOR_ELSEWHERE: 'an operator outside TESLIM_OPERATOR_NETWORKS',
} as const

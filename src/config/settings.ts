import { readOrigins } from './origins.ts'
import {
  allowedPointers,
  choice,
  file,
  list,
  maskAll,
  maskUrlPassword,
  POINTER,
  type Setting,
  secret,
  setting,
  text,
  whole,
} from './setting-kinds.ts'
import { areTrustedProxies } from './trusted-proxies.ts'

/** Every setting, in the order of docs/reference.md. */
export const settings = {
  port: setting('PORT', whole(3000, 0, 65535, 'Port to listen on; 0 takes any free one.')),
  host: setting(
    'HOST',
    text('127.0.0.1', /^[A-Za-z0-9.:_%-]+$/, 'a host name or address', 'Address to listen on; `0.0.0.0` for all.'),
  ),
  trustProxy: setting('TESLIM_TRUST_PROXY', {
    default: 'off',
    allowed: 'off, or addresses, networks such as 10.0.0.0/8, and loopback, separated by commas',
    description:
      'Proxies that may name the client in `X-Forwarded-For`; without it all clients behind a proxy count as one address.',
    read: (written) => (areTrustedProxies(written) ? written : undefined),
  }),
  tlsCertificateFile: setting(
    'TESLIM_TLS_CERT',
    text(
      '',
      /^[^\0]*$/,
      'the path of a PEM file',
      'Serve HTTPS with this certificate and its chain; read again on SIGHUP. Needs `TESLIM_TLS_KEY`.',
    ),
  ),
  tlsKeyFile: setting(
    'TESLIM_TLS_KEY',
    text('', /^[^\0]*$/, 'the path of a PEM file', 'Private key of `TESLIM_TLS_CERT`, without a passphrase.'),
  ),
  databaseUrl: setting(
    'DATABASE_URL',
    text(
      'sqlite:./data/teslim.db',
      /^(?:sqlite:.+|postgres(?:ql)?:\/\/.+)$/,
      'sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME',
      'The store: `sqlite:` and a file, or a PostgreSQL server, which many replicas can share.',
    ),
    maskUrlPassword,
  ),
  databasePool: setting(
    'TESLIM_DATABASE_POOL',
    whole(8, 3, 1000, 'Maximum number of connections from each replica to PostgreSQL.'),
  ),
  databaseTimeoutSeconds: setting(
    'TESLIM_DATABASE_TIMEOUT',
    whole(5, 1, 600, 'Seconds to wait for PostgreSQL to answer a query.'),
  ),
  logLevel: setting(
    'LOG_LEVEL',
    choice(['info', 'trace', 'debug', 'warn', 'error', 'fatal', 'silent'], 'Lowest level that is logged.'),
  ),
  log: setting(
    'TESLIM_LOG',
    choice(
      ['auto', 'json', 'pretty'],
      'Form of the log; `auto` is `pretty` on a terminal outside production, else `json`. `NO_COLOR` turns colours off.',
    ),
  ),
  environment: setting(
    'NODE_ENV',
    choice(['development', 'production', 'test'], 'Outside `production` the first start makes a sandbox customer.'),
  ),
  fieldCase: setting(
    'TESLIM_FIELD_CASE',
    choice(['any', 'exact'], 'Letter case of contract fields in bodies: any, or exactly as in the contract.'),
  ),
  loginEmailField: setting(
    'TESLIM_LOGIN_EMAIL_FIELD',
    text(
      'Email',
      /^(?!(?:password|callbackdata)$)[a-z][a-z0-9_.-]{0,63}$/i,
      'a field name of letters, digits, "_", "." and "-" other than Password and callbackData',
      'Name of the login field that carries the e-mail address.',
    ),
  ),
  loginAuthorization: setting(
    'TESLIM_LOGIN_AUTHORIZATION',
    choice(['reject', 'ignore'], 'What to do with an `Authorization` header on a login.'),
  ),
  loginAnswer: setting(
    'TESLIM_LOGIN_ANSWER',
    choice(
      ['contract', 'camel', 'both'],
      'Field names of the login answer: `Token` and `Expiration`, `token` and `expiration`, or both.',
    ),
  ),
  loginMemorySeconds: setting(
    'TESLIM_LOGIN_MEMORY',
    whole(300, 0, 86_400, 'Seconds that a verified password is recognised without hashing it again; 0 turns this off.'),
  ),
  hashConcurrency: setting(
    'TESLIM_HASH_CONCURRENCY',
    whole(0, 0, 1024, 'Passwords hashed at once; 0 means one less than the number of cores, but at least one.'),
  ),
  hashQueue: setting(
    'TESLIM_HASH_QUEUE',
    whole(32, 0, 100_000, 'Logins that may wait for hashing; further ones get 503.'),
  ),
  tokenTtlSeconds: setting('TESLIM_TOKEN_TTL', whole(3600, 1, 31_536_000, 'Lifetime of an access token, in seconds.')),
  tokenAlgorithm: setting(
    'TESLIM_TOKEN_ALGORITHM',
    choice(['ES256', 'EdDSA'], 'Signature algorithm of access tokens.'),
  ),
  tokenIssuer: setting(
    'TESLIM_TOKEN_ISSUER',
    text('teslim', /^[\x21-\x7e]{1,255}$/, '1 to 255 visible ASCII characters', '`iss` of access tokens.'),
  ),
  tokenAudience: setting(
    'TESLIM_TOKEN_AUDIENCE',
    text('teslim', /^[\x21-\x7e]{1,255}$/, '1 to 255 visible ASCII characters', '`aud` of access tokens.'),
  ),
  signingKeyDays: setting(
    'TESLIM_SIGNING_KEY_DAYS',
    whole(90, 0, 3650, 'Days after which a new signing key replaces the old one; 0 turns this off.'),
  ),
  secret: setting(
    'TESLIM_SECRET',
    secret('Encrypts the signing keys in the store; unless set, they are stored unencrypted.'),
    maskAll,
  ),
  secretFile: setting(
    'TESLIM_SECRET_FILE',
    file('File that contains the secret, instead of `TESLIM_SECRET`; one newline at the end is ignored.'),
  ),
  formerSecret: setting(
    'TESLIM_SECRET_OLD',
    secret('Previous secret; needed after a change until `teslim signing-key rewrap` has run.'),
    maskAll,
  ),
  formerSecretFile: setting(
    'TESLIM_SECRET_OLD_FILE',
    file('File that contains the previous secret, instead of `TESLIM_SECRET_OLD`; one newline at the end is ignored.'),
  ),
  purchaseBearer: setting(
    'TESLIM_PURCHASE_BEARER',
    choice(
      ['optional', 'required', 'ignored'],
      'Bearer token beside the `ApiKey` of a delivery: checked if sent, required, or ignored.',
    ),
  ),
  apiKey: setting(
    'TESLIM_API_KEY',
    text('', /^\S+$/, 'an API key', 'The API key that `teslim deliver` sends; the server does not use it.'),
    maskAll,
  ),
  orderIdPointers: setting(
    'TESLIM_ORDER_ID_POINTERS',
    list(
      ['/PurchaseOrderID', '/PurchaseID', '/OrderNumber', '/OrderID'],
      POINTER,
      allowedPointers('/OrderID,/Order/ID'),
      'Where to find the order id of a delivery: the first match counts; `*` stands for each element of an array.',
    ),
  ),
  orderId: setting(
    'TESLIM_ORDER_ID',
    choice(
      ['optional', 'required'],
      'Whether a delivery may come without an order id; `required` refuses it with 400.',
    ),
  ),
  productPointers: setting(
    'TESLIM_PRODUCT_POINTERS',
    list(
      ['/ProductID', '/ProductCode', '/Products/*/ProductID', '/Products/*/ProductCode', '/Products/*/Sku'],
      POINTER,
      allowedPointers('/Sku,/Lines/*/Code'),
      'Where to find the products of a delivery; a rule must allow each of them.',
    ),
  ),
  idempotencyDays: setting('TESLIM_IDEMPOTENCY_DAYS', whole(7, 1, 3650, 'Days an `Idempotency-Key` is remembered.')),
  rateLimit: setting(
    'TESLIM_RATE_LIMIT',
    whole(0, 0, 1_000_000, 'Maximum deliveries a minute, for each API key at each replica; 0 means no limit.'),
  ),
  auditDays: setting(
    'TESLIM_AUDIT_DAYS',
    whole(400, 0, 36_500, 'Days that events stay in the audit log; 0 keeps them forever.'),
  ),
  keepRefused: setting(
    'TESLIM_KEEP_REFUSED',
    choice(['off', 'known'], 'Whether to keep bodies that are refused although their API key is valid.'),
  ),
  refusedBytes: setting(
    'TESLIM_REFUSED_BYTES',
    whole(
      67_108_864,
      1_048_576,
      10_737_418_240,
      'Bytes of all refused bodies that are kept, each counted with 512 more; the oldest go first.',
    ),
  ),
  refusedDays: setting('TESLIM_REFUSED_DAYS', whole(7, 1, 3650, 'Days that refused bodies are kept.')),
  retentionDays: setting(
    'TESLIM_RETENTION_DAYS',
    whole(0, 0, 36_500, 'Days after which the server removes deliveries that no order needs; 0 keeps them forever.'),
  ),
  retentionOrders: setting(
    'TESLIM_RETENTION_ORDERS',
    choice(['off', 'on'], 'Whether that removes orders whose latest delivery is older, too.'),
  ),
  rollUps: setting(
    'TESLIM_ROLL_UPS',
    choice(['on', 'off'], 'Whether the server counts deliveries by hour in the background, for `/Purchase/stats`.'),
  ),
  queueDeliveries: setting(
    'TESLIM_QUEUE_DELIVERIES',
    whole(10_000, 1, 10_000_000, 'Deliveries that may wait to be stored; further ones get 503.'),
  ),
  queueBytes: setting(
    'TESLIM_QUEUE_BYTES',
    whole(67_108_864, 1024, 68_719_476_736, 'Bytes of deliveries that may wait to be stored; further ones get 503.'),
  ),
  opsHost: setting(
    'TESLIM_OPS_HOST',
    text(
      '127.0.0.1',
      /^[A-Za-z0-9.:_%-]+$/,
      'a host name or address',
      'Address of the second listener, for monitoring: `/metrics`, `/livez` and `/readyz`, without a token.',
    ),
  ),
  opsPort: setting('TESLIM_OPS_PORT', whole(9464, 0, 65535, 'Port of the second listener; 0 turns it off.')),
  docs: setting(
    'TESLIM_DOCS',
    choice(['on', 'off'], 'Serve the API reference page at `/docs`; `/openapi.yaml` is always served.'),
  ),
  corsOrigins: setting('TESLIM_CORS_ORIGINS', {
    default: [] as readonly string[],
    allowed: 'origins such as https://shop.example:8443, separated by commas, or *',
    description:
      'Origins of web pages that may read what a token or key of theirs opens (CORS), or `*`; no page can log in or deliver. None unless set.',
    read: readOrigins,
  }),
  bodyLimitBytes: setting('TESLIM_BODY_LIMIT', whole(1_048_576, 1024, 104_857_600, 'Largest request body, in bytes.')),
  bodyBudgetBytes: setting(
    'TESLIM_BODY_BUDGET',
    whole(
      0,
      0,
      68_719_476_736,
      'Bytes of all request bodies held at once; further requests get 503. 0 means an eighth of the memory.',
    ),
  ),
  requestTimeoutSeconds: setting(
    'TESLIM_REQUEST_TIMEOUT',
    whole(15, 1, 600, 'Seconds to receive a whole request, and to store a delivery.'),
  ),
  maxConnections: setting(
    'TESLIM_MAX_CONNECTIONS',
    whole(8192, 1, 1_000_000, 'Connections held at once; requests on further ones get 503.'),
  ),
  readyDelaySeconds: setting(
    'TESLIM_READY_DELAY',
    whole(0, 0, 600, 'Seconds after SIGTERM in which only `/readyz` fails, so that balancers notice in time.'),
  ),
  shutdownSeconds: setting(
    'TESLIM_SHUTDOWN_SECONDS',
    whole(8, 1, 600, 'Seconds for requests in flight to finish after SIGTERM or SIGINT.'),
  ),
} satisfies Record<string, Setting>

export type SettingName = keyof typeof settings

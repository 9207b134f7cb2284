import { parseSilence, SILENCE_ALLOWED } from '#src/lib/duration.ts'
import {
  areTrustedProxies,
  readOperatorNetworks,
  readOrigins,
  readWebhookAllow,
  wrongOperatorNetworks,
  wrongWebhookAllow,
} from './address-settings.ts'
import { environment, logLevel } from './common-settings.ts'
import { loginSettings } from './login-settings.ts'
import { retentionSettings } from './retention-settings.ts'
import {
  allowedPointers,
  choice,
  list,
  maskAll,
  maskUrlPassword,
  POINTER,
  type Setting,
  setting,
  text,
  whole,
} from './setting-kinds.ts'

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
  databaseStandby: setting(
    'TESLIM_DATABASE_STANDBY',
    choice(
      ['off', 'required'],
      '`required` confirms a delivery only if PostgreSQL named a synchronous standby before and after its commit, else 503.',
    ),
  ),
  logLevel: setting('LOG_LEVEL', logLevel),
  log: setting(
    'TESLIM_LOG',
    choice(
      ['auto', 'json', 'pretty'],
      'Form of the log; `auto` is `pretty` on a terminal outside production, else `json`. `NO_COLOR` turns colours off.',
    ),
  ),
  environment: setting('NODE_ENV', environment),
  fieldCase: setting(
    'TESLIM_FIELD_CASE',
    choice(['any', 'exact'], 'Letter case of contract fields in bodies: any, or exactly as in the contract.'),
  ),
  ...loginSettings,
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
  webhookSecret: setting(
    'TESLIM_WEBHOOK_SECRET',
    text(
      '',
      /^whsec_[A-Za-z0-9+/]+={0,2}(?: whsec_[A-Za-z0-9+/]+={0,2})?$/,
      'a secret that begins with whsec_, or two with a space between',
      'The secret of an endpoint, with which `teslim webhook listen` verifies what it receives; the server does not use it.',
    ),
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
  /** Kept as it is written: `parseSilence` reads it. */
  silence: setting('TESLIM_SILENCE', {
    default: 'off',
    allowed: SILENCE_ALLOWED,
    description:
      'A supplier whose keys were not used for so long is silent: log, `doctor`, console and metrics say so. `customer set --silence` has another time for one of them.',
    read: (written) => (parseSilence(written) === undefined ? undefined : written),
  }),
  ...retentionSettings,
  opsHost: setting(
    'TESLIM_OPS_HOST',
    text(
      '127.0.0.1',
      /^[A-Za-z0-9.:_%-]+$/,
      'a host name or address',
      'Address of the second listener, for monitoring: `/metrics`, `/livez`, `/readyz` and `/healthz`, without a token.',
    ),
  ),
  opsPort: setting('TESLIM_OPS_PORT', whole(9464, 0, 65535, 'Port of the second listener; 0 turns it off.')),
  docs: setting(
    'TESLIM_DOCS',
    choice(
      ['on', 'off'],
      'Serve the API reference page at `/docs`; `/openapi.yaml` and `/openapi.json` are always served.',
    ),
  ),
  console: setting('TESLIM_CONSOLE', choice(['on', 'off'], 'Serve the console for operators at `/console`.')),
  operatorNetworks: setting('TESLIM_OPERATOR_NETWORKS', {
    default: [] as readonly string[],
    allowed: 'addresses and networks, separated by commas, such as 203.0.113.7,10.0.0.0/8,2001:db8::/32',
    description:
      'Where operators may come from: elsewhere `/console`, `/Operator` and `/Webhook` are 404, and neither the token nor the login of an operator works. Anywhere unless set.',
    read: readOperatorNetworks,
    hint: wrongOperatorNetworks,
  }),
  corsOrigins: setting('TESLIM_CORS_ORIGINS', {
    default: [] as readonly string[],
    allowed: 'origins such as https://shop.example:8443, separated by commas, or *',
    description:
      'Origins of web pages that may read what a token or key of theirs opens (CORS), or `*`; no page can log in or deliver. None unless set.',
    read: readOrigins,
  }),
  webhookAllow: setting('TESLIM_WEBHOOK_ALLOW', {
    default: [] as readonly string[],
    allowed: 'hosts and networks, each with a port or without, such as backoffice.internal:8443,10.0.0.0/8,[::1]:8080',
    description:
      'Webhooks may use `http:` and private addresses for hosts named here, and reach the addresses in networks named here: at the port that is named, or else at 443 (80 for `http:`). None unless set.',
    read: readWebhookAllow,
    hint: wrongWebhookAllow,
  }),
  bodyLimitBytes: setting('TESLIM_BODY_LIMIT', whole(1_048_576, 1024, 104_857_600, 'Largest request body, in bytes.')),
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

import { choice, setting, whole } from './setting-kinds.ts'

/** What the server keeps, and for how long. */
export const retentionSettings = {
  auditDays: setting(
    'TESLIM_AUDIT_DAYS',
    whole(400, 0, 36_500, 'Days that events stay in the audit log; 0 keeps them forever.'),
  ),
  keepRefused: setting(
    'TESLIM_KEEP_REFUSED',
    choice(['off', 'known'], 'Whether to keep bodies that are refused although their API key is valid.'),
  ),
  refusedDays: setting('TESLIM_REFUSED_DAYS', whole(7, 1, 3650, 'Days that refused bodies are kept.')),
  retentionDays: setting(
    'TESLIM_RETENTION_DAYS',
    whole(
      0,
      0,
      36_500,
      'Days after which the server removes deliveries that neither an order nor a webhook endpoint needs; 0 keeps them forever.',
    ),
  ),
  retentionOrders: setting(
    'TESLIM_RETENTION_ORDERS',
    choice(['off', 'on'], 'Whether retention also removes whole orders whose latest delivery is older.'),
  ),
  retentionUnsent: setting(
    'TESLIM_RETENTION_UNSENT',
    choice(['off', 'on'], 'Whether retention also removes deliveries that a webhook endpoint has not taken.'),
  ),
}

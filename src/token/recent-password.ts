/** The case in which it is needed, in words of docs/security.md. */
type When = string

/**
 * What a session of the console does only within 15 minutes of its password, by route: what lets others in, sends data elsewhere, or
 * cannot be taken back. The handlers call `needRecentPassword`, which no other route may do.
 */
export const NEEDING_PASSWORD: Readonly<Record<string, When>> = {
  '/Operator/customers': 'with another `Scope` than `customer`',
  '/Operator/customer/:customerId/enable': 'of somebody who sees the data of others',
  '/Operator/customer/:customerId/allow': 'with a rule that ends with `*`',
  '/Operator/customer/:customerId/keys': 'always',
  '/Operator/key/:keyId/rotate': 'always',
  '/Operator/delivery/:receiptId/erase': 'without `DryRun`',
  '/Operator/order/:orderId/erase': 'without `DryRun`',
  '/Webhook/endpoints': 'always',
  '/Webhook/endpoint/:endpointId/set': 'of anything but `GiveUpSeconds`',
  '/Webhook/endpoint/:endpointId/rotateSecret': 'always',
  '/Webhook/endpoint/:endpointId/remove': 'always',
  '/Webhook/endpoint/:endpointId/replay': 'of a stretch, `From` without `OrderID`',
}

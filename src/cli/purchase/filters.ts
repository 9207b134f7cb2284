import { textOf } from '#src/lib/messages/message.ts'
import { isNetwork, readPrefix } from '#src/lib/net/network.ts'
import type { DeliveryQuery } from '#src/purchase/orders/delivery-search.ts'
import { STATUS_MEANINGS } from '#src/purchase/status.ts'
import { type Input, Misuse, type Option } from '../command.ts'
import { periodOptions, readPeriod } from '../input/time.ts'

export const purchaseFilters = {
  customer: { value: 'CUSTOMER', about: 'Only of this customer: e-mail address or id' },
  order: { value: 'ORDERID', about: 'Only of this order' },
  product: { value: 'CODE', about: 'Only with this product' },
  status: {
    value: 'STATUS',
    choices: Object.fromEntries(STATUS_MEANINGS.map((meaning, status) => [status, meaning])),
    about: 'Only with this Status',
  },
  ...periodOptions,
} as const satisfies Record<string, Option>

export const deliveryFilters = {
  ...purchaseFilters,
  key: { value: 'KEYID', about: 'Only what came with this API key' },
  address: { value: 'ADDRESS', about: 'Only what came from this address or network: 203.0.113.7, 203.0.113.0/24' },
} as const satisfies Record<string, Option>

export type PurchaseFilter = Omit<DeliveryQuery, 'after' | 'withPayload' | 'key' | 'network'>

/** Says that a list of orders or deliveries is empty. */
export const noneOf = (filters: object, one: string, all: string, hint = ''): string =>
  Object.values(filters).some((filter) => filter !== undefined)
    ? `No ${one} matches.${hint}`
    : `There are no ${all} yet.`

export function readPurchaseFilters(input: Input, now: number): PurchaseFilter {
  const status = input.text('status')
  return {
    customer: input.text('customer'),
    orderId: input.text('order'),
    product: input.text('product'),
    status: status === undefined ? undefined : Number(status),
    ...readPeriod(input, now),
  }
}

/** Reads what was given of `deliveryFilters`; the key as it was typed. */
export function readDeliveryFilters(input: Input, now: number) {
  const address = input.text('address')
  const network = address === undefined ? undefined : readPrefix(address)
  if (network !== undefined && !isNetwork(network)) throw new Misuse(`--address "${address}" ${textOf(network)}`)
  return { ...readPurchaseFilters(input, now), key: input.text('key'), network }
}

import { customerErrors } from '#src/customer/customer.errors.ts'
import { type Caller, maySee } from '#src/customer/find-customer.ts'
import { AppError } from '#src/lib/app-error.ts'
import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import { addressBytes, commonText, contains, type Network } from '#src/lib/net/network.ts'
import { isStorable } from '#src/lib/text.ts'
import type { ApiKey, ApiKeyStore, Filter, KeptOrigin, ListedApiKey } from '#src/store/store.ts'

/** Where deliveries came from. */
export interface OriginFilter {
  readonly key?: ApiKey | undefined
  readonly network?: Network | undefined
}

/** Finds an API key by its id. Somebody else's is refused like one that does not exist. */
export const createFindKey =
  (apiKeys: Pick<ApiKeyStore, 'findById'>) =>
  async (caller: Caller, id: string): Promise<ListedApiKey> => {
    const key = isStorable(id) ? await apiKeys.findById(id) : undefined
    if (key !== undefined && maySee(caller, key.customerId)) return key
    throw new AppError(customerErrors.keyNotFound, { message: `There is no API key ${JSON.stringify(id)}.` })
  }

/** What the store filters by. It lets through a few deliveries from other addresses, which `isFrom` does not. */
export const storedFilter = ({ key, network }: OriginFilter): Pick<Filter, 'keyId' | 'addressPart'> => ({
  keyId: key?.id,
  addressPart: (network && commonText(network)) || undefined,
})

/** Whether a delivery came from there. What is not known did not. */
export const isFrom = (origin: KeptOrigin | undefined, { key, network }: OriginFilter): boolean =>
  (key === undefined || origin?.keyId === key.id) &&
  (network === undefined || contains(network, addressBytes(origin?.address ?? '') ?? []))

/** The clock of whoever issued or revoked a key may differ from those of servers by less than this. */
const CLOCKS_DIFFER = DAY_MILLISECONDS

/**
 * Narrows a period to the time in which a key could deliver. Its last use says nothing about that: a use is recorded seconds later, and
 * not at all if the key was revoked or the server killed meanwhile.
 */
export function periodWithin({ from, to }: Pick<Filter, 'from' | 'to'>, key: ApiKey | undefined) {
  if (key === undefined) return { from, to }
  const end =
    Math.min(key.revokedAt ?? Number.POSITIVE_INFINITY, key.expiresAt ?? Number.POSITIVE_INFINITY) + CLOCKS_DIFFER
  const until = Math.min(to ?? Number.POSITIVE_INFINITY, end)
  return {
    from: Math.max(from ?? 0, key.createdAt - CLOCKS_DIFFER),
    to: until === Number.POSITIVE_INFINITY ? undefined : until,
  }
}

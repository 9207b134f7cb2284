import { AppError } from '#src/lib/app-error.ts'
import { sharedWithin, sharedWork } from '#src/lib/shared-work.ts'
import { COMMAND } from '#src/lib/version.ts'
import type { VersionWatch } from '#src/lib/version-watch.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { CustomerStore } from '#src/store/store.ts'

type Customers = Pick<CustomerStore, 'search'>

const SCANNED_AT_ONCE = 500
/** Longer than the store takes to say why it cannot be used. */
const LATE_MILLISECONDS = 1900
/** Somebody has to act first, so callers need not come back every second. */
const RETRY_AFTER_SECONDS = 10

export const ADD_ONE = `no customer yet, add one: ${COMMAND} customer add --email ADDRESS --api --region TR --allow RULE --generate`

/** Whether there is a customer that was not removed. */
export async function hasCustomer({ search }: Customers): Promise<boolean> {
  for (let after: string | null = ''; after !== null; ) {
    const found = await search({ removed: false }, after, { limit: 1, scan: SCANNED_AT_ONCE })
    if (found.customers.length > 0) return true
    after = found.next
  }
  return false
}

/**
 * A condition for taking requests. Without any customer, each of them would be refused as somebody's mistake, and suppliers do not send
 * again after that. Costs a query after each change of an account, none otherwise.
 */
export function needsCustomer(customers: Customers, versions: VersionWatch) {
  let known: boolean | undefined
  versions.onChange(() => {
    known = undefined
  })
  const find = sharedWork(async () => {
    const version = versions.version()
    const found = await hasCustomer(customers)
    if (versions.version() === version) known = found
    return found
  })
  return {
    refusal: new AppError(storeErrors.empty, { reason: ADD_ONE, retryAfterSeconds: RETRY_AFTER_SECONDS }),
    holds: () => known === true,
    check: sharedWithin(
      LATE_MILLISECONDS,
      async () => {
        if (!versions.isFresh()) await versions.makeFresh()
        return known ?? find()
      },
      async () => {
        throw new AppError(storeErrors.unavailable, { reason: 'it takes more than a second to look for a customer' })
      },
    ),
  }
}

import type { Account, Accounts, RefusedKey } from '#src/customer/accounts.ts'
import type { KeyUses } from '#src/customer/key-uses.ts'
import { AppError } from '#src/lib/app-error.ts'
import { purchaseErrors } from './purchase.errors.ts'

/** The customer that delivers, with its key and its authority. */
export type Supplier = Account

export interface SupplierAccessDependencies {
  readonly accounts: Accounts
  readonly uses: KeyUses
  /** Returns the customer id of a bearer token; throws for a token that does not verify. */
  readonly verifyBearer: (authorization: string | undefined) => Promise<string>
  readonly bearer: 'optional' | 'required' | 'ignored'
}

/** Identifies suppliers by their API key. A bearer token that is sent as well must belong to the same customer. */
export function createSupplierAccess({ accounts, uses, verifyBearer, bearer }: SupplierAccessDependencies) {
  const needsBearer = (authorization: string | undefined): boolean =>
    bearer === 'required' || (bearer === 'optional' && authorization !== undefined)

  /** Explains the refusal to a client that always sends both, and would stop when its token expires. */
  const explain = (error: unknown, ids: { customerId: string; keyId: string }): never => {
    if (!(error instanceof AppError) || error.kind !== 'unauthenticated') throw error
    const { code, kind, message, details } = error
    if (bearer === 'required') throw new AppError({ code, kind, message }, { ...details, ...ids })
    const advice = `${message} The API key alone is enough: leave the Authorization header out.`
    const reason = 'invalid token beside a valid API key; TESLIM_PURCHASE_BEARER=ignored would ignore the token'
    throw new AppError({ code, kind, message: advice }, { reason, ...details, ...ids })
  }

  const admitWithBearer = async (account: Account, authorization: string | undefined, address: string) => {
    const { customer, key } = account
    const ids = { customerId: customer.id, keyId: key.id }
    const bearerId = await verifyBearer(authorization).catch((error: unknown) => explain(error, ids))
    if (bearerId !== customer.id) throw new AppError(purchaseErrors.tokenForeign, ids)
    uses.record(key.id, address)
    return account
  }
  const admit = (
    account: Account | RefusedKey,
    authorization: string | undefined,
    address: string,
  ): Supplier | Promise<Supplier> => {
    if ('reason' in account) throw new AppError(purchaseErrors.keyInvalid, account)
    if (needsBearer(authorization)) return admitWithBearer(account, authorization, address)
    uses.record(account.key.id, address)
    return account
  }

  /** Returns the supplier, or throws the refusal. Needs no promise if the key is cached and no token is to be checked. */
  return (
    apiKey: string | undefined,
    authorization: string | undefined,
    address: string,
  ): Supplier | Promise<Supplier> => {
    if (apiKey === undefined) throw new AppError(purchaseErrors.keyMissing)
    const found = accounts.byApiKey(apiKey, address)
    return found instanceof Promise
      ? found.then((account) => admit(account, authorization, address))
      : admit(found, authorization, address)
  }
}

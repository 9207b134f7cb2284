import type { Account, Accounts } from '#src/customer/accounts.ts'
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

export interface SupplierCredentials {
  readonly apiKey: string | undefined
  readonly authorization: string | undefined
  readonly address: string
}

/** Identifies suppliers by their API key. A bearer token that is sent as well must belong to the same customer. */
export function createSupplierAccess({ accounts, uses, verifyBearer, bearer }: SupplierAccessDependencies) {
  const needsBearer = (authorization: string | undefined): boolean =>
    bearer === 'required' || (bearer === 'optional' && authorization !== undefined)

  const checkBearer = async (authorization: string | undefined, { customer, key }: Account): Promise<void> => {
    const ids = { customerId: customer.id, keyId: key.id }
    const bearerId = await verifyBearer(authorization).catch((error: unknown) => explain(error, ids))
    if (bearerId !== customer.id) throw new AppError(purchaseErrors.tokenForeign, ids)
  }

  /** Explains the refusal to a client that always sends both, and would stop when its token expires. */
  const explain = (error: unknown, ids: { customerId: string; keyId: string }): never => {
    if (!(error instanceof AppError) || error.kind !== 'unauthenticated') throw error
    const { code, kind, message, details } = error
    if (bearer === 'required') throw new AppError({ code, kind, message }, { ...details, ...ids })
    const advice = `${message} The API key alone is enough: leave the Authorization header out.`
    const reason = 'invalid token beside a valid API key; TESLIM_PURCHASE_BEARER=ignored would ignore the token'
    throw new AppError({ code, kind, message: advice }, { reason, ...details, ...ids })
  }

  return {
    /**
     * Returns the supplier of a cached key at once, undefined if there is more to check: waiting for a promise before the body
     * is read would cost the request thread several percent.
     */
    known({ apiKey, authorization, address }: SupplierCredentials): Supplier | undefined {
      if (apiKey === undefined || needsBearer(authorization)) return undefined
      const account = accounts.cachedByApiKey(apiKey, address)
      if (account !== undefined) uses.record(account.key.id, address)
      return account
    },

    async identify({ apiKey, authorization, address }: SupplierCredentials): Promise<Supplier> {
      if (apiKey === undefined) throw new AppError(purchaseErrors.keyMissing)
      const account = await accounts.byApiKey(apiKey, address)
      if ('obstacle' in account) {
        const { obstacle: reason, ...customer } = account
        throw new AppError(purchaseErrors.keyInvalid, { reason, ...customer })
      }
      if (needsBearer(authorization)) await checkBearer(authorization, account)
      uses.record(account.key.id, address)
      return account
    },
  }
}

import type { Account, Accounts } from '#src/customer/accounts.ts'
import type { KeyUses } from '#src/customer/key-uses.ts'
import { AppError } from '#src/lib/app-error.ts'
import { purchaseErrors } from '../purchase.errors.ts'

/** Who delivers, and what it may. */
export type Supplier = Account

export interface SupplierAccessDependencies {
  readonly accounts: Accounts
  readonly uses: KeyUses
  /** The customer id that a bearer token stands for; throws for a token that does not verify. */
  readonly verifyBearer: (authorization: string | undefined) => Promise<string>
  readonly bearer: 'optional' | 'required' | 'ignored'
}

export interface SupplierCredentials {
  readonly apiKey: string | undefined
  readonly authorization: string | undefined
  readonly address: string
}

/** Who delivers: the holder of the ApiKey and, if a token comes with it, of the token too. */
export function createSupplierAccess({ accounts, uses, verifyBearer, bearer }: SupplierAccessDependencies) {
  const needsBearer = (authorization: string | undefined): boolean =>
    bearer === 'required' || (bearer === 'optional' && authorization !== undefined)

  const checkBearer = async (authorization: string | undefined, customerId: string): Promise<void> => {
    if ((await verifyBearer(authorization)) === customerId) return
    throw new AppError(purchaseErrors.tokenForeign, { customerId })
  }

  /** A client that always sends both would stop when its token expires, although the ApiKey is good. */
  const explain = (error: unknown): never => {
    if (bearer === 'required' || !(error instanceof AppError) || error.kind !== 'unauthenticated') throw error
    const { code, kind, details } = error
    const message = `${error.message} The ApiKey is valid and enough: leave the Authorization header out.`
    const reason = 'a token beside a valid ApiKey; TESLIM_PURCHASE_BEARER=ignored would not look at it'
    throw new AppError({ code, kind, message }, { reason, ...details })
  }

  const identify = async ({ apiKey, authorization, address }: SupplierCredentials): Promise<Supplier> => {
    if (apiKey === undefined) throw new AppError(purchaseErrors.keyMissing)
    const account = await accounts.byApiKey(apiKey)
    if ('obstacle' in account) {
      const { obstacle: reason, ...whose } = account
      throw new AppError(purchaseErrors.keyInvalid, { reason, ...whose })
    }
    const customerId = account.customer.id
    if (needsBearer(authorization)) await checkBearer(authorization, customerId).catch(explain)
    uses.record(account.key.id, address)
    return account
  }

  /** A promise only where one is needed: a request that waits for one before its body is read costs a tenth more. */
  return (credentials: SupplierCredentials): Supplier | Promise<Supplier> => {
    const { apiKey, authorization, address } = credentials
    if (apiKey === undefined || needsBearer(authorization)) return identify(credentials)
    const account = accounts.cachedByApiKey(apiKey)
    if (account === undefined) return identify(credentials)
    uses.record(account.key.id, address)
    return account
  }
}

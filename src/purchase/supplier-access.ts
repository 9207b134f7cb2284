import type { KeyUses } from '#src/customer/key-uses.ts'
import type { RefusedKey, Supplier, Suppliers } from '#src/customer/suppliers.ts'
import { AppError } from '#src/lib/app-error.ts'
import { purchaseErrors } from './purchase.errors.ts'

export type { Supplier } from '#src/customer/suppliers.ts'

export interface SupplierAccessDependencies {
  readonly suppliers: Suppliers
  readonly uses: KeyUses
  /** Returns the customer id of a bearer token; throws for a token that does not verify. */
  readonly verifyBearer: (authorization: string | undefined) => Promise<string>
  readonly bearer: 'optional' | 'required' | 'ignored'
}

/** Identifies suppliers by their API key. A bearer token that is sent as well must belong to the same customer. */
export function createSupplierAccess({ suppliers, uses, verifyBearer, bearer }: SupplierAccessDependencies) {
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

  const admitWithBearer = async (supplier: Supplier, authorization: string | undefined, address: string) => {
    const { customer, key } = supplier
    const ids = { customerId: customer.id, keyId: key.id }
    const bearerId = await verifyBearer(authorization).catch((error: unknown) => explain(error, ids))
    if (bearerId !== customer.id) throw new AppError(purchaseErrors.tokenForeign, ids)
    uses.record(key.id, address)
    return supplier
  }
  const admit = (
    supplier: Supplier | RefusedKey,
    authorization: string | undefined,
    address: string,
  ): Supplier | Promise<Supplier> => {
    if ('reason' in supplier) throw new AppError(purchaseErrors.keyInvalid, supplier)
    if (needsBearer(authorization)) return admitWithBearer(supplier, authorization, address)
    uses.record(supplier.key.id, address)
    return supplier
  }

  /** Returns the supplier, or throws the refusal. Needs no promise if the key is cached and no token is to be checked. */
  return (
    apiKey: string | undefined,
    authorization: string | undefined,
    address: string,
  ): Supplier | Promise<Supplier> => {
    if (apiKey === undefined) throw new AppError(purchaseErrors.keyMissing)
    const found = suppliers.byApiKey(apiKey, address)
    return found instanceof Promise
      ? found.then((supplier) => admit(supplier, authorization, address))
      : admit(found, authorization, address)
  }
}

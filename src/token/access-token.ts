// The package's index would load its encryption and its remote keys too.
import type { JWTPayload } from 'jose'
import { decodeProtectedHeader } from 'jose/decode/protected_header'
import * as errors from 'jose/errors'
import { jwtVerify } from 'jose/jwt/verify'
import { AppError, type ErrorDefinition } from '#src/lib/app-error.ts'
import { type Clock, toSeconds } from '#src/lib/clock.ts'
import type { Customer, CustomerStore } from '#src/store/store.ts'
import { signCompact } from './compact-jws.ts'
import type { Signer } from './signer.ts'
import type { SigningKeys } from './signing-keys.ts'
import { tokenErrors } from './token.errors.ts'
import type { UsableKey } from './usable-key.ts'

/** RFC 9068: marks access tokens, so that no other JWT could pass for one. */
const TYPE = 'at+jwt'
const REQUIRED_CLAIMS = ['iss', 'aud', 'sub', 'jti', 'iat', 'exp', 'region', 'scope']

/** From the least to the most. */
const SCOPES = ['customer', 'operator:read', 'operator'] as const

export type Scope = (typeof SCOPES)[number]

export interface IssuedToken {
  readonly token: string
  /** Seconds since 1970, equal to `exp`. */
  readonly expiresAt: number
}

export interface Access {
  readonly customer: Customer
  readonly region: string
  /** No more than the token says, and no more than the customer has by now. */
  readonly scope: Scope
  /** Whether the scope shows the data of all customers. */
  readonly seesAll: boolean
  readonly expiresAt: number
}

export interface AccessTokenDependencies {
  readonly keys: SigningKeys
  readonly signer: Signer
  readonly customers: CustomerStore
  readonly clock: Clock
  readonly newId: () => string
  readonly issuer: string
  readonly audience: string
  readonly ttlSeconds: number
}

export interface AccessTokens {
  issue(customer: Customer, region: string): Promise<IssuedToken>
  /** Returns what a valid token grants; throws one of `tokenErrors` for any other. */
  verify(token: string): Promise<Access>
}

export function createAccessTokens(dependencies: AccessTokenDependencies): AccessTokens {
  const { keys, signer, customers, clock, newId, issuer, audience, ttlSeconds } = dependencies

  return {
    async issue(customer, region) {
      const key = await keys.current()
      // A revocation counts from the next whole second; a login in that second must stay valid.
      const issuedAt = Math.max(toSeconds(clock.now()), customer.tokensValidFrom)
      const expiresAt = issuedAt + ttlSeconds
      const claims = {
        region,
        scope: scopeOf(customer),
        iss: issuer,
        aud: audience,
        sub: customer.id,
        jti: newId(),
        iat: issuedAt,
        exp: expiresAt,
      }
      const token = await signCompact({ alg: key.algorithm, typ: TYPE, kid: key.kid }, claims, key, signer)
      return { token, expiresAt }
    },

    async verify(token) {
      const key = await findKey(keys, token)
      const claims = await verifyClaims(token, key, { issuer, audience, now: new Date(clock.now()) })
      const { sub, iat, exp, region, scope: claimed } = claims
      if (typeof iat !== 'number' || typeof exp !== 'number' || typeof region !== 'string' || !isScope(claimed)) {
        throw refusal(tokenErrors.claims)
      }
      const customer = await customers.findById(String(sub))
      if (customer === undefined || !customer.enabled || iat < customer.tokensValidFrom) {
        throw refusal(tokenErrors.revoked, sub)
      }
      const scope = lesser(claimed, scopeOf(customer))
      return { customer, region, scope, seesAll: scope !== 'customer', expiresAt: exp }
    },
  }
}

/** Unpadded base64url in its canonical spelling: unused bits of the last character are zero. */
const PART = '(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-][AQgw]|[A-Za-z0-9_-]{2}[AEIMQUYcgkosw048])?'
/** Three such parts, the last maybe empty. jose would accept white space, padding and other spellings. */
const SHAPE = new RegExp(`^(?=[^.])${PART}\\.(?=[^.])${PART}\\.${PART}$`)

/** Finds the key that the header names, and checks that the header agrees with it. */
async function findKey(keys: SigningKeys, token: string): Promise<UsableKey> {
  if (!SHAPE.test(token)) throw refusal(tokenErrors.malformed)
  const { alg, typ, kid, crit } = readHeader(token)
  if (typ !== TYPE || crit !== undefined) throw refusal(tokenErrors.malformed)
  if (alg !== 'ES256' && alg !== 'EdDSA') throw refusal(tokenErrors.algorithm)
  const key = typeof kid === 'string' ? await keys.find(kid) : undefined
  if (key === undefined) throw refusal(tokenErrors.keyUnknown)
  if (key.algorithm !== alg) throw refusal(tokenErrors.algorithm)
  return key
}

function readHeader(token: string): ReturnType<typeof decodeProtectedHeader> {
  try {
    return decodeProtectedHeader(token)
  } catch {
    throw refusal(tokenErrors.malformed)
  }
}

interface Expected {
  readonly issuer: string
  readonly audience: string
  readonly now: Date
}

async function verifyClaims(token: string, key: UsableKey, expected: Expected): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(token, key.publicKey, {
      algorithms: [key.algorithm],
      issuer: expected.issuer,
      audience: expected.audience,
      currentDate: expected.now,
      requiredClaims: REQUIRED_CLAIMS,
    })
    return payload
  } catch (error) {
    throw refusal(whyRefused(error))
  }
}

function whyRefused(error: unknown): ErrorDefinition {
  if (error instanceof errors.JWTExpired) return tokenErrors.expired
  if (error instanceof errors.JWSSignatureVerificationFailed) return tokenErrors.signature
  if (!(error instanceof errors.JWTClaimValidationFailed)) return tokenErrors.malformed
  if (error.claim === 'nbf') return tokenErrors.notYetValid
  if (error.claim === 'iss') return tokenErrors.issuer
  if (error.claim === 'aud') return tokenErrors.audience
  return tokenErrors.claims
}

const isScope = (value: unknown): value is Scope => SCOPES.some((scope) => scope === value)

const scopeOf = ({ operator, readOnly }: Customer): Scope => {
  if (!operator) return 'customer'
  return readOnly ? 'operator:read' : 'operator'
}

const lesser = (one: Scope, other: Scope): Scope => (SCOPES.indexOf(one) < SCOPES.indexOf(other) ? one : other)

const refusal = (definition: ErrorDefinition, customerId?: string): AppError =>
  new AppError(definition, customerId === undefined ? {} : { customerId })

import { hash } from 'node:crypto'
// The package's index would load its encryption and its remote keys too.
import type { JWTPayload } from 'jose'
import { decodeProtectedHeader } from 'jose/decode/protected_header'
import * as errors from 'jose/errors'
import { jwtVerify } from 'jose/jwt/verify'
import { keepsRights, type Rights, type Role, readScope, rightsOf, scopeText } from '#src/customer/rights.ts'
import { AppError, type ErrorDefinition } from '#src/lib/app-error.ts'
import { type Clock, toSeconds } from '#src/lib/clock.ts'
import { newId, type Random } from '#src/lib/random.ts'
import { createVersionedCache, type VersionWatch } from '#src/lib/version-watch.ts'
import type { Customer } from '#src/store/store.ts'
import type { Access, CurrentCustomers, SessionCheck, TokenSession } from './access.ts'
import { type Signer, signCompact } from './signer.ts'
import type { SigningKeys } from './signing-keys.ts'
import { tokenErrors } from './token.errors.ts'
import type { UsableKey } from './usable-key.ts'

/** RFC 9068: marks access tokens, so that no other JWT could pass for one. */
export const TOKEN_TYPE = 'at+jwt'
const REQUIRED_CLAIMS = ['iss', 'aud', 'sub', 'client_id', 'jti', 'iat', 'exp', 'region', 'scope', 'gen']

/** Tokens that are recognised; all are forgotten when one more comes. */
const MAX_VERIFIED = 10_000

/** What a token says that was verified. */
interface Grant {
  readonly kid: string
  readonly sub: string
  readonly region: string
  readonly role: Role
  readonly gen: string
  readonly exp: number
  readonly session: TokenSession | undefined
}

export interface AccessTokenDependencies {
  readonly keys: SigningKeys
  readonly signer: Signer
  readonly customers: Pick<CurrentCustomers, 'findById'>
  readonly sessions: SessionCheck
  readonly clock: Clock
  readonly random: Random
  readonly issuer: string
  readonly audience: string
  readonly ttlSeconds: number
}

export type AccessTokens = ReturnType<typeof createAccessTokens>

export function createAccessTokens(dependencies: AccessTokenDependencies) {
  const { keys, signer, customers, sessions, clock, random, issuer, audience, ttlSeconds } = dependencies
  /** What tokens say whose signatures were verified, by their digests: to verify one costs more than all else that a page needs. */
  const verified = new Map<string, Grant>()

  const accessOf = async (grant: Grant): Promise<Access> => {
    const { sub, gen, region, role, exp, session } = grant
    const customer = await customers.findById(sub)
    // As the login requires: who may not get a token has none.
    const mayLogIn = customer?.enabled && customer.isApi
    if (!mayLogIn || customer.tokenGeneration !== gen) throw refusal(tokenErrors.revoked, sub)
    if (session !== undefined && !(await sessions.isThere(session.id))) throw refusal(tokenErrors.revoked, sub)
    const rights = rightsOf(role).intersection(rightsOf(customer))
    const { scope } = keepsRights(role, customer) ? role : customer
    const again = () => accessAgain(grant, rights)
    const againInSession = async () => {
      const expiry = session && (await sessions.expiry(session.id))
      return accessAgain({ ...grant, exp: Math.max(exp, toSeconds(expiry ?? 0)) }, rights)
    }
    const seesAll = rights.has('all')
    return { customer, region, scope, rights, seesAll, expiresAt: exp, session, again, againInSession }
  }

  /** What ends a grant whatever becomes of its customer; undefined as long as nothing has. */
  const whyOver = async ({ exp, kid }: Grant): Promise<ErrorDefinition | undefined> => {
    if (toSeconds(clock.now()) >= exp) return tokenErrors.expired
    return (await keys.find(kid)) === undefined ? tokenErrors.keyUnknown : undefined
  }

  const accessAgain = async (grant: Grant, former: Rights): Promise<Access> => {
    const over = await whyOver(grant)
    if (over !== undefined) throw refusal(over)
    const access = await accessOf(grant)
    if (!former.isSubsetOf(access.rights)) throw refusal(tokenErrors.revoked, grant.sub)
    return access
  }

  const readGrant = async (token: string): Promise<Grant> => {
    const key = await findKey(keys, token)
    const claims = await verifyClaims(token, key, { issuer, audience, now: new Date(clock.now()) })
    const { sub, iat, exp, region, gen } = claims
    const role = readScope(claims.scope)
    const areTexts = typeof sub === 'string' && typeof region === 'string' && typeof gen === 'string'
    if (
      !areTexts ||
      typeof iat !== 'number' ||
      typeof exp !== 'number' ||
      role === undefined ||
      claims.client_id !== sub
    )
      throw refusal(tokenErrors.claims)
    return { kid: key.kid, sub, region, role, gen, exp, session: readSession(claims) }
  }

  return {
    /** A token of a session ends at `until` in seconds since 1970, if that comes before the usual end. */
    async issue(customer: Customer, region: string, session?: TokenSession & { readonly until: number }) {
      const key = await keys.current()
      const issuedAt = toSeconds(clock.now())
      const expiresAt = Math.min(issuedAt + ttlSeconds, session?.until ?? Number.POSITIVE_INFINITY)
      const claims = {
        region,
        scope: scopeText(customer),
        iss: issuer,
        aud: audience,
        sub: customer.id,
        client_id: customer.id,
        jti: newId(clock.now(), random),
        iat: issuedAt,
        exp: expiresAt,
        gen: customer.tokenGeneration,
        ...(session && { sid: session.id, auth_time: session.authAt }),
      }
      const token = await signCompact({ alg: key.algorithm, typ: TOKEN_TYPE, kid: key.kid }, claims, key, signer)
      return { token, expiresAt }
    },

    /** Returns what a valid token grants; throws one of `tokenErrors` for any other. */
    async verify(token: string) {
      const digest = hash('sha256', token, 'base64')
      const known = verified.get(digest)
      if (known !== undefined && (await whyOver(known)) === undefined) return accessOf(known)
      const grant = await readGrant(token)
      if (verified.size >= MAX_VERIFIED) verified.clear()
      verified.set(digest, grant)
      return accessOf(grant)
    },
  }
}

/** The names are those of OpenID Connect. */
function readSession({ sid, auth_time: authAt }: JWTPayload): TokenSession | undefined {
  if (sid === undefined) return undefined
  if (typeof sid !== 'string' || typeof authAt !== 'number') throw refusal(tokenErrors.claims)
  return { id: sid, authAt }
}

/** Unpadded base64url in its canonical spelling: unused bits of the last character are zero. */
const PART = '(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-][AQgw]|[A-Za-z0-9_-]{2}[AEIMQUYcgkosw048])?'
/** Three such parts, the last maybe empty. jose would accept white space, padding and other spellings. */
const SHAPE = new RegExp(`^(?=[^.])${PART}\\.(?=[^.])${PART}\\.${PART}$`)

/** Finds the key that the header names, and checks that the header agrees with it. */
async function findKey(keys: SigningKeys, token: string): Promise<UsableKey> {
  if (!SHAPE.test(token)) throw refusal(tokenErrors.malformed)
  const { alg, typ, kid, crit } = readHeader(token)
  if (typ !== TOKEN_TYPE || crit !== undefined) throw refusal(tokenErrors.malformed)
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

const refusal = (definition: ErrorDefinition, customerId?: string): AppError =>
  new AppError(definition, customerId === undefined ? {} : { customerId })

/** Reads the version of the accounts each time, which is cheaper than a customer, and a customer only after a change. */
export function createCurrentCustomers(customers: CurrentCustomers, versions: VersionWatch): CurrentCustomers {
  // No id is an e-mail address.
  const cached = createVersionedCache<Customer>(versions)
  return {
    async findById(id) {
      await versions.readNow()
      return cached.get(id) ?? cached.load(id, () => customers.findById(id))
    },
    async findByEmail(email) {
      await versions.readNow()
      return cached.get(email) ?? cached.load(email, () => customers.findByEmail(email))
    },
  }
}

export function createSessionCheck({ expiry }: Pick<SessionCheck, 'expiry'>, versions: VersionWatch): SessionCheck {
  const cached = createVersionedCache<number>(versions)
  const isThere = async (id: string) => (cached.get(id) ?? (await cached.load(id, () => expiry(id)))) !== undefined
  return { isThere, expiry }
}

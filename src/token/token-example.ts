import type { Config } from '#src/config/load-config.ts'
import { TOKEN_TYPE } from './access-token.ts'
import type { PublicJwk } from './usable-key.ts'

/** Examples for the contract, by `TESLIM_TOKEN_ALGORITHM`: the public keys of RFC 7515, A.3 and RFC 8037, A.2. */
const KEYS: Readonly<Record<Config['tokenAlgorithm'], PublicJwk>> = {
  ES256: {
    kty: 'EC',
    crv: 'P-256',
    x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
    y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
    kid: 'oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U',
    alg: 'ES256',
    use: 'sig',
  },
  EdDSA: {
    kty: 'OKP',
    crv: 'Ed25519',
    x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
    kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
    alg: 'EdDSA',
    use: 'sig',
  },
}

export const keyExample = ({ tokenAlgorithm }: Config): PublicJwk => KEYS[tokenAlgorithm]

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')

/** Names the key of `keyExample`. Shorter than a token is: it has few of the claims. */
export function tokenExample(config: Config): string {
  const { alg, kid } = keyExample(config)
  const claims = { iss: config.tokenIssuer, aud: config.tokenAudience }
  return `${encode({ alg, typ: TOKEN_TYPE, kid })}.${encode(claims)}.c2lnbmF0dXJl`
}

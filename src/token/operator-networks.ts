import { AppError } from '#src/lib/app-error.ts'
import { message } from '#src/lib/messages/message.ts'
import type { Networks } from '#src/lib/net/networks.ts'
import type { Access } from './access.ts'
import type { AccessTokens } from './access-token.ts'
import { tokenErrors } from './token.errors.ts'

export interface AccessTokensByAddress extends Pick<AccessTokens, 'issue'> {
  /** Returns what a valid token grants to a client at this address; throws one of `tokenErrors` for any other. */
  verify(token: string, address: string): Promise<Access>
}

/** Refuses a token that opens more than the data of its own customer like a revoked one, if it comes from elsewhere. */
export const withinNetworks = ({ issue, verify }: AccessTokens, networks: Networks): AccessTokensByAddress => ({
  issue,
  async verify(token, address) {
    const access = await verify(token)
    if (!access.seesAll || networks.contain(address)) return access
    throw new AppError(tokenErrors.revoked, {
      customerId: access.customer.id,
      reason: message('OPERATOR_ELSEWHERE'),
      recordedAs: 'operator.refused',
    })
  },
})

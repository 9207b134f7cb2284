import { createAddressRule } from './address-rule.ts'
import { noProxies, type Proxies } from './proxies.ts'
import { type Resolve, systemResolve, unlessAborted } from './resolve.ts'
import { forbiddenAddress, readTarget } from './target.ts'

export interface UrlOptions {
  /** The setting TESLIM_WEBHOOK_ALLOW. */
  readonly allow: readonly string[]
  readonly proxies?: Proxies
  /** Replaced in tests. */
  readonly resolve?: Resolve
}

const MAX_LOOK_UP = 5000

/**
 * Checks the URL of a new endpoint and returns it as it is stored. A name that cannot be resolved now is accepted, because the addresses
 * are checked at every connection anyway.
 */
export async function checkUrl(text: string, options: UrlOptions): Promise<string> {
  const { allow, proxies = noProxies, resolve = systemResolve } = options
  const rule = createAddressRule(allow)
  const target = readTarget(text, rule)
  if (!target.isAddress && !target.isNamed && proxies(target) === undefined) {
    const found = unlessAborted(resolve(target.host), AbortSignal.timeout(MAX_LOOK_UP))
    const [first, ...others] = await found.catch(() => [])
    if (first !== undefined && ![first, ...others].some((each) => rule.allows(each, target)))
      throw forbiddenAddress(target, first)
  }
  return target.url.href
}

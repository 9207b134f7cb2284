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

const LONGEST_LOOK_UP = 5000

/** Whether TESLIM_WEBHOOK_ALLOW names the host of a URL, or a network in which its address may lie. */
export function mayBePrivate(text: string, allow: readonly string[]): boolean {
  const rule = createAddressRule(allow)
  try {
    const target = readTarget(text, rule)
    return target.isNamed || (!target.isAddress && rule.namesNetworks(target))
  } catch {
    // It was named when the endpoint was added.
    return true
  }
}

/**
 * Checks the URL of a new endpoint and returns it as it is stored. A name that cannot be resolved now is accepted, because the addresses
 * are checked at every connection anyway.
 */
export async function checkUrl(text: string, options: UrlOptions): Promise<string> {
  const { allow, proxies = noProxies, resolve = systemResolve } = options
  const rule = createAddressRule(allow)
  const target = readTarget(text, rule)
  if (!target.isAddress && !target.isNamed && proxies(target) === undefined) {
    const found = unlessAborted(resolve(target.host), AbortSignal.timeout(LONGEST_LOOK_UP))
    const [first, ...others] = await found.catch(() => [])
    if (first !== undefined && ![first, ...others].some((each) => rule.allows(each, target)))
      throw forbiddenAddress(target, first)
  }
  return target.url.href
}

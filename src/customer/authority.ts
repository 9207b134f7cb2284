const MAX_RULE_LENGTH = 200

/** Accepts an exact product code, a prefix (`ABC-*`), or `*` for every product. */
export const isAuthorityRule = (rule: string): boolean =>
  rule.length <= MAX_RULE_LENGTH && rule.isWellFormed() && /^(?:[^*\p{Cc}]+\*?|\*)$/u.test(rule) && rule.trim() === rule

/** What a customer may deliver: only products that a rule covers. */
export interface Authority {
  /** Whether `*` is among the rules. A delivery that names no product needs it. */
  readonly everything: boolean
  covers(product: string): boolean
}

export function compileAuthority(rules: readonly string[]): Authority {
  const exact = new Set(rules.filter((rule) => !rule.endsWith('*')))
  const prefixes = rules.filter((rule) => rule.endsWith('*')).map((rule) => rule.slice(0, -1))
  return {
    everything: prefixes.includes(''),
    covers: (product) =>
      (exact.size > 0 && exact.has(product)) || prefixes.some((prefix) => product.startsWith(prefix)),
  }
}

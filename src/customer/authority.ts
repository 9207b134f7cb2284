const LONGEST = 200

/** An exact product code, a prefix with a star at its end (`ABC-*`), or `*` for every product. */
export const isAuthorityRule = (rule: string): boolean =>
  rule.length <= LONGEST && rule.isWellFormed() && /^(?:[^*\p{Cc}]+\*?|\*)$/u.test(rule) && rule.trim() === rule

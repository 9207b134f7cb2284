import type { Config } from '#src/config/load-config.ts'

/** A place where openapi.yaml, which is written with the default settings, reads differently with another value of a setting. */
export interface Change {
  /** The lines that are replaced, the first of the file counted as 0. */
  readonly from: number
  readonly count: number
  readonly lines: readonly string[]
}

/** By setting and value, such as `TESLIM_LOGIN_ANSWER=camel`; `npm run openapi` writes them. */
export type Variants = Readonly<Record<string, readonly Change[] | undefined>>

/** Stands in a variant for a name of the e-mail field that only the operator knows. */
export const EMAIL_FIELD_STAND_IN = 'EmailFieldOfTheLogin'

/** The contract of a service with these settings. */
export function servedContract(contract: string, variants: Variants, config: Config): string {
  const { loginAnswer, loginEmailField, purchaseBearer } = config
  const changes = [
    variants[`TESLIM_LOGIN_ANSWER=${loginAnswer}`],
    variants[`TESLIM_PURCHASE_BEARER=${purchaseBearer}`],
    loginEmailField !== 'Email' && variants[`TESLIM_LOGIN_EMAIL_FIELD=${EMAIL_FIELD_STAND_IN}`],
  ].flatMap((each) => each || [])
  const lines = contract.split('\n')
  // From the end, so that the places of the others stay.
  for (const change of changes.sort((one, other) => other.from - one.from)) {
    const named = change.lines.map((line) => line.replace(EMAIL_FIELD_STAND_IN, asYaml(loginEmailField)))
    lines.splice(change.from, change.count, ...named)
  }
  return lines.join('\n')
}

/** Names that YAML 1.1 or 1.2 would read as something else than text. */
const NOT_TEXT = /^(?:y|yes|n|no|true|false|on|off|null|e-?\d+)$/i

const asYaml = (name: string): string => (NOT_TEXT.test(name) ? `"${name}"` : name)

import type { Config } from '#src/config/load-config.ts'

/** Lines of a generated text that read differently with another value of a setting. */
export interface Change {
  /** Index of the first replaced line, from 0. */
  readonly from: number
  readonly count: number
  readonly lines: readonly string[]
}

/** By setting and value, for example `TESLIM_LOGIN_ANSWER=camel`; `npm run openapi` writes them. */
export type Variants = Readonly<Record<string, readonly Change[] | undefined>>

/** Placeholder in a variant for the configured name of the e-mail field. */
export const EMAIL_FIELD_STAND_IN = 'EmailFieldOfTheLogin'

/** Adapts a text generated with the default settings to these settings. `spell` quotes the e-mail field's name where the format needs it. */
export function servedContract(
  written: string,
  variants: Variants,
  config: Config,
  spell = (name: string): string => name,
): string {
  const { loginAnswer, loginEmailField, purchaseBearer } = config
  const changes = [
    variants[`TESLIM_LOGIN_ANSWER=${loginAnswer}`],
    variants[`TESLIM_PURCHASE_BEARER=${purchaseBearer}`],
    loginEmailField !== 'Email' && variants[`TESLIM_LOGIN_EMAIL_FIELD=${EMAIL_FIELD_STAND_IN}`],
  ].flatMap((each) => each || [])
  const lines = written.split('\n')
  // From the last to the first, so that earlier line numbers stay valid.
  for (const change of changes.sort((one, other) => other.from - one.from)) {
    const named = change.lines.map((line) => line.replace(EMAIL_FIELD_STAND_IN, spell(loginEmailField)))
    lines.splice(change.from, change.count, ...named)
  }
  return lines.join('\n')
}

/** Names that YAML 1.1 or 1.2 would not read as text. */
const NOT_TEXT = /^(?:y|yes|n|no|true|false|on|off|null|e-?\d+)$/i

export const asYaml = (name: string): string => (NOT_TEXT.test(name) ? `"${name}"` : name)

import type { Config } from '#src/config/load-config.ts'
import type { Clock } from '#src/lib/clock.ts'
import { type Code, type Message, message, textOf, type ValuesOf } from '#src/lib/messages/message.ts'
import { isLoopback } from '#src/lib/net/reachable-host.ts'
import type { Random } from '#src/lib/random.ts'
import { COMMIT, FORM, VERSION } from '#src/lib/version.ts'

/** The message says what was found and, unless it is ok, what to do. */
export interface Check extends Message {
  readonly name: string
  /** `ok` only for what was looked at. */
  readonly status: 'ok' | 'skipped' | 'warning' | 'failed'
  /** The finding in English. */
  readonly message: string
}

const check =
  (status: Check['status']) =>
  <C extends Code>(name: string, code: C, ...values: ValuesOf<C>): Check => {
    const found = message(code, ...values)
    return { name, status, message: textOf(found), ...found }
  }
export const ok = check('ok')
export const skipped = check('skipped')
export const warning = check('warning')
export const failed = check('failed')

export interface ExaminationOptions {
  /** How much of an embedded store's file is checked for damage: a small one, one of usual size, or any. */
  readonly depth: 'quick' | 'usual' | 'full'
  readonly clock: Clock
  readonly random: Random
  /** Called with the name of each check that takes time, before it begins. */
  readonly onBegin?: (name: string) => void
}

/** The worst thing found, for all checks together. */
export const worstOf = (checks: readonly Check[]): 'ok' | 'warning' | 'failed' =>
  (['failed', 'warning'] as const).find((status) => checks.some((check) => check.status === status)) ?? 'ok'

/** Older versions lack security fixes of Node itself. */
const SAFE_NODE = [26, 13] as const

export function isSafeNode(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > SAFE_NODE[0] || (major === SAFE_NODE[0] && minor >= SAFE_NODE[1])
}

export function checkNode(version: string, environment: Config['environment'] = 'production', form = FORM): Check {
  if (isSafeNode(version)) return ok('node', 'NODE_SAFE', { version })
  const needed = message(form === 'executable' ? 'NODE_WITHIN' : 'NODE_OR_CONTAINER', { version: SAFE_NODE.join('.') })
  const values = { version, needed }
  return environment === 'production' ? warning('node', 'NODE_OLD', values) : ok('node', 'NODE_FOR_TRYING', values)
}

const INSTALLED = {
  checkout: 'RUN_FROM_CHECKOUT',
  package: 'NPM_PACKAGE',
  executable: 'SINGLE_EXECUTABLE',
  container: 'IN_CONTAINER',
} as const

export function checkProgram(): Check {
  const program = { version: VERSION, form: message(INSTALLED[FORM]) }
  return COMMIT === null
    ? ok('program', 'PROGRAM', program)
    : ok('program', 'PROGRAM_OF_COMMIT', { ...program, commit: COMMIT })
}

/** Checks what matters once other machines can reach the server. */
export const checkListening = (config: Config): Check[] => [
  ...checkService(config),
  ...checkOperators(config),
  ...checkMonitoring(config),
]

function checkService({ host, environment, tlsCertificateFile }: Config): Check[] {
  if (isLoopback(host)) return [ok('network', 'NETWORK_LOCAL', { host })]
  return [
    tlsCertificateFile === '' ? warning('network', 'NETWORK_OPEN', { host }) : ok('network', 'NETWORK_TLS', { host }),
    ...(environment === 'production' ? [] : [warning('network', 'NETWORK_NOT_PRODUCTION')]),
  ]
}

/** Without TLS here a proxy is in front, or only this machine reaches the server: every client has the same address. */
export function checkOperators({ operatorNetworks, trustProxy, tlsCertificateFile }: Config): Check[] {
  if (operatorNetworks.length === 0) return []
  return trustProxy === 'off' && tlsCertificateFile === ''
    ? [warning('network', 'OPERATORS_BEHIND_PROXY')]
    : [ok('network', 'OPERATORS_FROM', { networks: operatorNetworks })]
}

function checkMonitoring({ opsHost, opsPort }: Config): Check[] {
  if (opsPort === 0 || isLoopback(opsHost)) return []
  return [warning('network', 'METRICS_OPEN', { host: opsHost, port: opsPort })]
}

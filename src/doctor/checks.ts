import type { Config } from '#src/config/load-config.ts'
import type { Clock } from '#src/lib/clock.ts'
import { isLoopback } from '#src/lib/net/reachable-host.ts'
import type { Random } from '#src/lib/random.ts'
import { COMMIT, FORM, VERSION } from '#src/lib/version.ts'

export interface Check {
  readonly name: string
  /** `ok` only for what was looked at. */
  readonly status: 'ok' | 'skipped' | 'warning' | 'failed'
  /** What was found and, unless it is ok, what to do. */
  readonly message: string
}

const check =
  (status: Check['status']) =>
  (name: string, message: string): Check => ({ name, status, message })
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
  if (isSafeNode(version)) return ok('node', version)
  const needed = `Node ${SAFE_NODE.join('.')} or later`
  const use = `in production use ${form === 'executable' ? `an executable that contains ${needed}` : `${needed}, or the container`}`
  return environment === 'production'
    ? warning('node', `${version} lacks security fixes: ${use}`)
    : ok('node', `${version} is enough for trying; ${use}`)
}

const INSTALLED = {
  checkout: 'run from a checkout',
  package: 'installed as an npm package',
  executable: 'a single executable',
  container: 'in the container',
}

export const checkProgram = (): Check =>
  ok('program', `teslim ${VERSION}, ${INSTALLED[FORM]}${COMMIT === null ? '' : `, built from commit ${COMMIT}`}`)

/** Checks what matters once other machines can reach the server. */
export const checkListening = (config: Config): Check[] => [...checkService(config), ...checkMonitoring(config)]

function checkService({ host, environment, tlsCertificateFile }: Config): Check[] {
  if (isLoopback(host)) return [ok('network', `HOST ${host}: this machine only`)]
  const open = `HOST ${host} is open to the network without TLS: set TESLIM_TLS_CERT, or keep it behind a proxy that has TLS, since passwords, keys and tokens can be read on the way`
  const trying = 'NODE_ENV is not production, and anything else is for trying on one machine: set it'
  return [
    tlsCertificateFile === '' ? warning('network', open) : ok('network', `HOST ${host}, with TLS`),
    ...(environment === 'production' ? [] : [warning('network', trying)]),
  ]
}

function checkMonitoring({ opsHost, opsPort }: Config): Check[] {
  if (opsPort === 0 || isLoopback(opsHost)) return []
  const message = `TESLIM_OPS_HOST ${opsHost} shows the metrics to everybody who reaches port ${opsPort}, without a token: admit only the monitoring to it`
  return [warning('network', message)]
}

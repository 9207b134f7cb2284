import { isIP } from 'node:net'

const isAddress = (value: string): boolean => isIP(value) !== 0
const isPort = (value: string): boolean => /^\d{1,5}$/.test(value)
const isProtocol = (value: string): boolean => /^(?:tcp|udp|sctp)$/.test(value)
const isUrl = (value: string): boolean => {
  const [, address = '', bracketed = address] =
    /^(?:tcp|udp|sctp):\/\/(?:([\d.]+)|\[([\da-f:.]+)\]):\d{1,5}$/i.exec(value) ?? []
  return isAddress(bracketed)
}

/** The variables that Kubernetes sets in a pod for each Service; the name of the Service comes before. */
const FORMS: readonly (readonly [name: RegExp, isValue: (value: string) => boolean])[] = [
  [/_SERVICE_HOST$/, isAddress],
  [/_SERVICE_PORT(?:_[A-Z0-9_]+)?$/, isPort],
  [/_PORT(?:_\d+_(?:TCP|UDP|SCTP))?$/, isUrl],
  [/_PORT_\d+_(?:TCP|UDP|SCTP)_PROTO$/, isProtocol],
  [/_PORT_\d+_(?:TCP|UDP|SCTP)_PORT$/, isPort],
  [/_PORT_\d+_(?:TCP|UDP|SCTP)_ADDR$/, isAddress],
]

/** Whether Kubernetes has set this variable because a Service is called teslim, or teslim- and more. */
export const isServiceLink = (variable: string, value: string | undefined): boolean =>
  variable.startsWith('TESLIM_') && FORMS.some(([name, isValue]) => name.test(variable) && isValue(value ?? ''))

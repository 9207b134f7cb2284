/** A host, an address or a network, without brackets; `port` is undefined if none is written. */
export interface HostPort {
  readonly host: string
  readonly port: number | undefined
}

/** Reads `host`, `host:port` and `[address]:port`; returns undefined for a port that is none. Whether the host is one is not checked. */
export function readHostPort(text: string): HostPort | undefined {
  const [, bracketed, bare = '', port] = /^(?:\[(.*:.*)\]|([^:]*|.*:.*:.*))(?::([1-9]\d{0,4}))?$/.exec(text) ?? []
  const host = bracketed ?? bare
  if (host === '' || Number(port ?? 1) > 65_535) return undefined
  return { host, port: port === undefined ? undefined : Number(port) }
}

/** Returns the text that `readHostPort` reads. */
export const hostPortText = ({ host, port }: HostPort): string => {
  if (port === undefined) return host
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

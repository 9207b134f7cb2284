/** An address that a server listens on, as this machine reaches it. */
export const reachableHost = (host: string): string => (host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host)

/** As it stands in a URL. */
export const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host)

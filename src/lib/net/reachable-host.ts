/** The address at which this machine reaches a server that listens on `host`. */
export const reachableHost = (host: string): string => (host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host)

/** Whether only this machine reaches a server that listens on `host`. */
export const isLoopback = (host: string): boolean => /^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/i.test(host)

/** Formats a host for a URL. */
export const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host)

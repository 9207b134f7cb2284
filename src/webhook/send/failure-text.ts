import { AppError, reasonOf } from '#src/lib/app-error.ts'
import { printable } from '#src/lib/printable.ts'

const LONGEST = 200

const TEXTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was closed before the answer was complete',
  EPIPE: 'the connection was closed before the answer was complete',
  UND_ERR_SOCKET: 'the connection was closed before the answer was complete',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer is not as long as its Content-Length says',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too large',
  ETIMEDOUT: 'the connection timed out',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  EADDRNOTAVAIL: 'the address cannot be reached from here',
  EMFILE: 'too many files are open in this process',
}

const NOT_HTTP = /^Response does not match the HTTP\/1\.1 protocol \((.*)\)$/

/** Says in plain words why no answer came. Nothing of the URL but its host, and nothing that controls a terminal. */
export function failureText(error: Error, host: string): string {
  const { code = '', reason } = error as NodeJS.ErrnoException & { readonly reason?: unknown }
  const text = textOf(error, host, code, typeof reason === 'string' ? reason : undefined)
  return printable(text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text)
}

function textOf(error: Error, host: string, code: string, reason: string | undefined): string {
  if (error instanceof AppError) return reasonOf(error)
  if (code === 'ENOTFOUND') return `the name ${host} was not found`
  if (code === 'EAI_AGAIN') return `the name ${host} could not be resolved`
  const [, wrong] = NOT_HTTP.exec(error.message) ?? []
  if (wrong !== undefined) return `the answer is not HTTP/1.1 (${wrong})`
  if (code.startsWith('ERR_SSL_')) return `TLS failed: ${(reason ?? code).toLowerCase()}`
  return TEXTS[code] ?? (error.message.split(/\n|; if the root CA/, 1)[0] || code || 'unknown error')
}

/** Returns a text as one word of a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

interface Request {
  readonly method?: string
  readonly url: string
  /** Each as a word of a shell. */
  readonly headers: readonly string[]
  readonly body?: string | undefined
  /** A file that has the body, by a name that a shell takes as it is. */
  readonly file?: string
}

/** Writes a curl command, one option a line. */
export function curlCommand({ method = 'POST', url, headers, body, file }: Request): string {
  const data = [
    ...(body === undefined ? [] : [`--data-raw ${quoted(body)}`]),
    ...(file === undefined ? [] : [`--data-binary @${file}`]),
  ]
  const word = /[^\w:/.-]/.test(url) ? quoted(url) : url
  // With data curl posts.
  const verb = method === 'GET' || data.length > 0 ? '' : `-X ${method} `
  return [`curl ${verb}${word}`, ...headers.map((header) => `-H ${header}`), ...data].join(' \\\n  ')
}

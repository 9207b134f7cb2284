const violations: string[] = []
const send = globalThis.fetch

/** `fetch` for servers that run as processes: their JSON answers must be in openapi.yaml, else the test file fails. */
export const fetch: typeof globalThis.fetch = async (input, init) => {
  const answer = await send(input, init)
  const isJson = answer.headers.get('content-type')?.startsWith('application/json')
  // Servers that stand in for others send no request id.
  if (!isJson || !answer.headers.has('x-request-id')) return answer
  const { method, url } = input instanceof Request ? input : { method: 'GET', url: String(input) }
  const body = await answer
    .clone()
    .text()
    // The caller learns from its own copy that the answer broke off.
    .catch(() => '')
  if (body === '') return answer
  // Imported here because it reads and compiles the whole contract.
  const { contractViolation, routeOf } = await import('./contract.ts')
  const asked = (init?.method ?? method).toUpperCase()
  const violation = contractViolation(asked, routeOf(new URL(url).pathname), answer.status, JSON.parse(body))
  if (violation !== undefined) violations.push(violation)
  return answer
}

/** Returns what was found since the last call; each-file.ts fails a file that has any. */
export const newViolations = (): string[] => violations.splice(0)

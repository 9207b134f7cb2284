const violations: string[] = []
const send = globalThis.fetch

/** Imported by the first answer because it reads and compiles the whole contract. */
let contract: Promise<typeof import('./contract.ts')> | undefined

/** Notes what is not in openapi.yaml. */
export async function check(method: string, url: string, status: number, body: string): Promise<void> {
  contract ??= import('./contract.ts')
  const { contractViolation, routeOf } = await contract
  const violation = contractViolation(method, routeOf(new URL(url).pathname), status, JSON.parse(body))
  if (violation !== undefined) violations.push(violation)
}

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
  await check((init?.method ?? method).toUpperCase(), url, answer.status, body)
  return answer
}

/** Returns what was found since the last call; each-file.ts fails a file that has any. */
export const newViolations = (): string[] => violations.splice(0)

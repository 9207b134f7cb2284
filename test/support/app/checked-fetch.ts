import type { Outcome } from '../processes/process.ts'

const violations: string[] = []
const send = globalThis.fetch

/** Imported by the first answer because it reads and compiles the whole contract. */
let loaded: Promise<typeof import('../docs/contract.ts')> | undefined

function contract(): Promise<typeof import('../docs/contract.ts')> {
  loaded ??= import('../docs/contract.ts')
  return loaded
}

/** Notes what is not in openapi.yaml. */
export async function check(method: string, url: string, status: number, body: string): Promise<void> {
  const { contractViolation, routeOf } = await contract()
  note(contractViolation(method, routeOf(new URL(url).pathname), status, JSON.parse(body)))
}

async function checkHeaders(method: string, url: string, { status, headers }: Response): Promise<void> {
  const { headerViolation, routeOf } = await contract()
  note(headerViolation(method, routeOf(new URL(url).pathname), status, Object.fromEntries(headers)))
}

/** Notes what a command printed that is not in docs/json.md. */
export async function checkPrinted(args: readonly string[], outcome: Outcome): Promise<void> {
  if (!args.includes('--json') && !args.includes('export')) return
  const { printedViolation } = await import('../docs/printed-shapes.ts')
  note(await printedViolation(args, outcome))
}

/** Notes a line or an event that does not have its type in docs/json.md. */
export async function checkPart(type: string, part: unknown): Promise<void> {
  const { shapeViolation } = await import('../docs/printed-shapes.ts')
  note(shapeViolation(type, part))
}

const note = (violation: string | undefined): void => void (violation !== undefined && violations.push(violation))

/** `fetch` for servers that run as processes: their JSON answers must be in openapi.yaml, else the test file fails. */
export const fetch: typeof globalThis.fetch = async (input, init) => {
  const answer = await send(input, init)
  const isJson = answer.headers.get('content-type')?.startsWith('application/json')
  // Servers that stand in for others send no request id.
  if (!answer.headers.has('x-request-id')) return answer
  const { method: ofInput, url } = input instanceof Request ? input : { method: 'GET', url: String(input) }
  const method = (init?.method ?? ofInput).toUpperCase()
  await checkHeaders(method, url, answer)
  if (!isJson) return answer
  const body = await answer
    .clone()
    .text()
    // The caller learns from its own copy that the answer broke off.
    .catch(() => '')
  if (body === '') return answer
  await check(method, url, answer.status, body)
  return answer
}

/** Returns what was found since the last call; each-file.ts fails a file that has any. */
export const newViolations = (): string[] => violations.splice(0)

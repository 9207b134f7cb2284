import { afterAll, expect } from 'vitest'

/** Answers of servers that tests start as processes must be in openapi.yaml, like those of the service in tests of its rooms. */
const violations: string[] = []
const send = globalThis.fetch

globalThis.fetch = async (input, init) => {
  const answer = await send(input, init)
  const isJson = answer.headers.get('content-type')?.startsWith('application/json')
  // Servers that stand in for others give no id.
  if (!isJson || !answer.headers.has('x-request-id')) return answer
  const { method, url } = input instanceof Request ? input : { method: 'GET', url: String(input) }
  const body = await answer
    .clone()
    .text()
    // Whoever reads it will learn that it broke off.
    .catch(() => '')
  if (body === '') return answer
  // Loaded here because most test files ask no such server.
  const { contractViolation, routeOf } = await import('./contract.ts')
  const asked = (init?.method ?? method).toUpperCase()
  const violation = contractViolation(asked, routeOf(new URL(url).pathname), answer.status, JSON.parse(body))
  if (violation !== undefined) violations.push(violation)
  return answer
}

afterAll(() => expect(violations, 'answers of a server that are not in openapi.yaml').toEqual([]))

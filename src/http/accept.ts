/** Split at commas or semicolons; quoted text may contain both. */
const BETWEEN_COMMAS = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g
const BETWEEN_SEMICOLONS = /(?:[^;"]|"(?:[^"\\]|\\.)*"?)+/g

/**
 * Whether an `Accept` header names `text/event-stream` with at least the weight of JSON (RFC 9110, 12.5.1). A wildcard does not
 * ask for a stream, which would never end for a client that accepts anything.
 */
export function prefersEvents(accept = ''): boolean {
  const weights = weightsOf(accept)
  const events = weights.get('text/event-stream') ?? 0
  // The most specific range that matches JSON counts.
  const json = weights.get('application/json') ?? weights.get('application/*') ?? weights.get('*/*') ?? 0
  return events > 0 && events >= json
}

/** Whether an `Accept` header names OpenMetrics with at least the weight of plain text. Prometheus does. */
export function prefersOpenMetrics(accept = ''): boolean {
  const weights = weightsOf(accept)
  const open = weights.get('application/openmetrics-text') ?? 0
  return open > 0 && open >= (weights.get('text/plain') ?? 0)
}

/** Returns the highest weight of each named range or coding, by its name in lower case. */
export function weightsOf(accept: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const part of accept.match(BETWEEN_COMMAS) ?? []) {
    const [range = '', ...parameters] = part.match(BETWEEN_SEMICOLONS) ?? []
    const name = range.trim().toLowerCase()
    weights.set(name, Math.max(weights.get(name) ?? 0, weightOf(parameters)))
  }
  return weights
}

/** Returns 1 if there is no weight, or none that is a number. */
function weightOf(parameters: readonly string[]): number {
  const [, text] =
    parameters.map((parameter) => parameter.split('=')).find(([name = '']) => /^\s*q\s*$/i.test(name)) ?? []
  const weight = Number(text ?? 1)
  return Number.isNaN(weight) ? 1 : Math.min(weight, 1)
}

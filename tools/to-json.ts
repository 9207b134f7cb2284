const LINE_WIDTH = 160

/** JSON that keeps on one line what fits, so that a change of the contract changes few lines. */
export const toJson = (value: unknown): string => `${inLines(value, '')}\n`

function inLines(value: unknown, indent: string): string {
  const whole = JSON.stringify(value)
  if (typeof value !== 'object' || value === null || indent.length + whole.length <= LINE_WIDTH) return whole
  const inner = `${indent} `
  const parts = Array.isArray(value)
    ? value.map((item) => inLines(item, inner))
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${inLines(item, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${parts.map((part) => inner + part).join(',\n')}\n${indent}${close}`
}

import { counted } from '#src/lib/printable.ts'

/** Says that endpoints are paused in a store that may be a copy of another one. */
export function pausedText(paused: number, where: string): string {
  const them = paused === 1 ? 'it is' : 'they are'
  const said = `${where.charAt(0).toUpperCase()}${where.slice(1)}`
  return `${said} sends nothing to ${counted(paused, 'endpoint')}: ${them} paused, in case ${where} is for tests. To go on: teslim webhook resume ENDPOINTID`
}

/** Says what an erasure cannot reach. */
export const notReachedLines = (notReached: readonly string[]): string[] => [
  'Not reached:',
  ...notReached.map((each) => `  ${each}`),
]

import { type Change, EMAIL_FIELD_STAND_IN, type Variants } from '#src/docs/served-contract.ts'
import { contract, toYaml } from './contract.ts'

const SETTINGS = [
  ['TESLIM_LOGIN_ANSWER', 'camel'],
  ['TESLIM_LOGIN_ANSWER', 'both'],
  ['TESLIM_PURCHASE_BEARER', 'required'],
  ['TESLIM_PURCHASE_BEARER', 'ignored'],
  ['TESLIM_LOGIN_EMAIL_FIELD', EMAIL_FIELD_STAND_IN],
] as const

/** What each setting that shows in the contract changes in it. */
export async function contractVariants(written: string): Promise<Variants> {
  const variants: Record<string, Change[]> = {}
  for (const [variable, value] of SETTINGS) {
    const other = toYaml(await contract({ [variable]: value }))
    variants[`${variable}=${value}`] = changes(written.split('\n'), other.split('\n'))
  }
  return variants
}

/** By the longest common subsequence of lines. */
function changes(before: readonly string[], after: readonly string[]): Change[] {
  const width = after.length + 1
  /** How many lines two remainders have in common. */
  const common = new Uint16Array((before.length + 1) * width)
  const at = (i: number, j: number): number => common[i * width + j] ?? 0
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      common[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const found: { from: number; count: number; lines: string[] }[] = []
  let [i, j] = [0, 0]
  while (i < before.length || j < after.length) {
    if (i < before.length && before[i] === after[j]) {
      i++
      j++
      continue
    }
    const last = found.at(-1)
    const current = last && last.from + last.count === i ? last : { from: i, count: 0, lines: [] }
    if (current !== last) found.push(current)
    if (j < after.length && (i === before.length || at(i, j + 1) >= at(i + 1, j))) current.lines.push(after[j++] ?? '')
    else {
      current.count++
      i++
    }
  }
  return found
}

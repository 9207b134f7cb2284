import { type Change, EMAIL_FIELD_STAND_IN, type Variants } from '#src/docs/served-contract.ts'
import { contract, toYaml } from './contract.ts'
import type { OpenApi } from './contract-answers.ts'
import { pageJson } from './contract-page.ts'

const SETTINGS = [
  ['TESLIM_LOGIN_ANSWER', 'camel'],
  ['TESLIM_LOGIN_ANSWER', 'both'],
  ['TESLIM_PURCHASE_BEARER', 'required'],
  ['TESLIM_PURCHASE_BEARER', 'ignored'],
  ['TESLIM_LOGIN_EMAIL_FIELD', EMAIL_FIELD_STAND_IN],
] as const

export interface AllVariants {
  readonly yaml: Variants
  readonly json: Variants
}

/** What each setting changes in the lines of openapi.yaml and of the reference page's reference.json. */
export async function contractVariants(document: OpenApi): Promise<AllVariants> {
  const yaml: Record<string, Change[]> = {}
  const json: Record<string, Change[]> = {}
  const [yamlLines, jsonLines] = [toYaml(document).split('\n'), pageJson(document).split('\n')]
  for (const [variable, value] of SETTINGS) {
    const other = await contract({ [variable]: value })
    yaml[`${variable}=${value}`] = changes(yamlLines, toYaml(other).split('\n'))
    json[`${variable}=${value}`] = changes(jsonLines, pageJson(other).split('\n'))
  }
  return { yaml, json }
}

/** The difference of two texts. */
function changes(before: readonly string[], after: readonly string[]): Change[] {
  const least = Math.min(before.length, after.length)
  let same = 0
  while (same < least && before[same] === after[same]) same++
  let tail = 0
  while (tail < least - same && before.at(-1 - tail) === after.at(-1 - tail)) tail++
  const between = changesBetween(before.slice(same, before.length - tail), after.slice(same, after.length - tail))
  return between.map(({ from, ...change }) => ({ from: from + same, ...change }))
}

/** The difference of two texts, by their longest common subsequence of lines. */
function changesBetween(before: readonly string[], after: readonly string[]): Change[] {
  const width = after.length + 1
  /** Length of the longest common subsequence of the remainders from i and from j. */
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

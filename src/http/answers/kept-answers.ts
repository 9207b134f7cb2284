import { keptWork } from '#src/lib/shared-work.ts'
import { CODINGS, type Coding } from './accept-encoding.ts'
import { compressWell } from './compression.ts'
import { weakTag } from './entity-tags.ts'

/** What never changes while the process runs: its tag, and its compressed forms, each made when first asked for. */
export interface KeptAnswer {
  readonly tag: string | undefined
  readonly packed: Readonly<Record<Coding, () => Promise<Buffer>>>
}

const kept = new WeakMap<object, KeptAnswer>()

/** Makes an answer that a route sends again and again: it is hashed and compressed once. */
export function keepAnswer(text: string): Buffer {
  const content = Buffer.from(text)
  const packed = CODINGS.map((coding) => [coding, keptWork(() => compressWell(content, coding))])
  kept.set(content, { tag: weakTag(content), packed: Object.fromEntries(packed) })
  return content
}

export const keptAnswer = (content: string | Uint8Array): KeptAnswer | undefined =>
  typeof content === 'string' ? undefined : kept.get(content)

import { readFileSync } from 'node:fs'

export interface Block {
  readonly page: string
  /** The line of the page that it begins in. */
  readonly line: number
  readonly text: string
  /** The JSON block right after it, which is what the page says it prints. */
  readonly output: string | undefined
}

const root = new URL('../../../', import.meta.url)

/** The shell blocks of a page, in their order. */
export function commandBlocks(page: string): Block[] {
  const text = readFileSync(new URL(page, root), 'utf8')
  const fences = Array.from(text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm), (match) => ({
    language: match[1],
    text: match[2] ?? '',
    from: match.index,
    to: match.index + match[0].length,
  }))
  return fences.flatMap(({ language, text: commands, from, to }, index) => {
    if (language !== 'sh') return []
    const next = fences[index + 1]
    const isOutput = next?.language === 'json' && text.slice(to, next.from).trim() === ''
    const line = text.slice(0, from).split('\n').length
    return [{ page, line, text: commands, output: isOutput ? next.text : undefined }]
  })
}

/** Headings are outside of code; in a block of shell a line that begins with # is a comment. */
export const withoutCode = (text: string): string => text.replaceAll(/^```[\s\S]*?^```$/gm, '')

/** The anchors that GitHub gives to the headings of a page. */
export function anchorsOf(text: string): string[] {
  const slugs = Array.from(withoutCode(text).matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
  return slugs.map((slug, index) => {
    const earlier = slugs.slice(0, index).filter((other) => other === slug).length
    return earlier === 0 ? slug : `${slug}-${earlier}`
  })
}

/** Replaces every value by its type, so that two answers to the same request are equal. */
export const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shapeOf)
  if (value === null || typeof value !== 'object') return value === null ? null : typeof value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shapeOf(part)]))
}

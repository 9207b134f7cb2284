/** Where a member of the outermost object lies in the text: `key` still as written, escapes and all. */
export interface Member {
  readonly key: string
  readonly valueStart: number
  readonly valueEnd: number
}

export interface Outline {
  /** How many arrays and objects lie inside one another at the deepest place. */
  readonly depth: number
  /** Every member of the outermost object, repeated keys too, which JSON.parse would hide. */
  readonly members: readonly Member[]
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a

/**
 * One pass over JSON text without building values. It does not judge the text: on text that is not JSON the outline
 * means nothing, but the pass still ends.
 */
export function outlineJson(text: string): Outline {
  const members: Member[] = []
  let depth = 0
  let deepest = 0
  let stringEnd = 0
  let stringStart = 0
  let key: string | undefined
  let valueStart = 0

  const endMember = (end: number): void => {
    if (key !== undefined) members.push({ key, valueStart, valueEnd: end })
    key = undefined
  }

  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE:
        stringStart = i + 1
        i = endOfString(text, stringStart)
        stringEnd = i
        break
      case 0x7b: // {
      case 0x5b: // [
        if (++depth > deepest) deepest = depth
        break
      case 0x7d: // }
      case 0x5d: // ]
        if (depth === 1) endMember(i)
        depth--
        break
      case COLON:
        if (depth === 1 && key === undefined) {
          key = text.slice(stringStart, stringEnd)
          valueStart = i + 1
        }
        break
      case COMMA:
        if (depth === 1) endMember(i)
        break
    }
  }
  return { depth: deepest, members }
}

/** The index of the quote that closes the string whose first character is at `start`. */
function endOfString(text: string, start: number): number {
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) return i
    if (code === BACKSLASH) i++
  }
  return text.length
}

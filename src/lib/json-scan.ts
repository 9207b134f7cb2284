import { asciiLowerCase } from './ascii.ts'

/** A place in JSON text that is looked for: a JSON Pointer in which `*` stands for each element of an array. */
export interface Pointer {
  readonly pointer: string
  /** Whether field names match in any case of ASCII letters. */
  readonly anyCase: boolean
}

/** A value found at a pointer. `end` is exclusive; for an array or object, whose end is not looked for, it is -1. */
export interface Found {
  readonly pointer: number
  readonly start: number
  readonly end: number
}

export interface Scan {
  /** How many arrays and objects lie inside one another at the deepest place, counted no further than one too many. */
  readonly depth: number
  /** In the order of the text, repeated fields too, which JSON.parse would hide. */
  readonly found: readonly Found[]
}

interface Node {
  readonly exact: Map<string, Node>
  readonly folded: Map<string, Node>
  /** By length and first letter, whether a child's name has them: most keys are passed over by this alone. */
  readonly shapes: boolean[]
  star: Node | undefined
  pointers: number[]
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * Prepares a scanner that passes over JSON text once, without building values. It does not judge the text: on text that
 * is not JSON what it finds means nothing, but the pass still ends.
 */
export function createScanner(pointers: readonly Pointer[], deepest: number): (text: string) => Scan {
  const root = newNode()
  for (const [index, pointer] of pointers.entries()) nodeAt(root, pointer).pointers.push(index)
  return (text) => scan(text, root, deepest)
}

function scan(text: string, root: Node, limit: number): Scan {
  const found: Found[] = []
  const escaped = text.includes('\\')
  const containers: (Node | undefined)[] = []
  const objects: boolean[] = []
  let depth = 0
  let deepest = 0
  let container: Node | undefined
  let inObject = false
  let atKey = false
  /** Where the next value stands among the pointers. */
  let place: Node | undefined = root

  const capture = (start: number, end: number): void => {
    if (place !== undefined) for (const pointer of place.pointers) found.push({ pointer, start, end })
    place = undefined
  }

  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      const end = endOfString(text, i + 1)
      if (atKey) {
        place = container && childFor(container, text, i + 1, end, escaped)
        atKey = false
      } else capture(i, end + 1)
      i = end
    } else if (code === 0x7b || code === 0x5b) {
      // { or [
      containers[depth] = container
      objects[depth] = inObject
      container = place
      capture(i, -1)
      inObject = code === 0x7b
      atKey = inObject
      if (!inObject) place = container?.star
      if (++depth > deepest) deepest = depth
      if (depth > limit) break
    } else if (code === 0x7d || code === 0x5d) {
      // } or ]
      if (depth > 0) depth--
      container = containers[depth]
      inObject = objects[depth] ?? false
      atKey = false
      place = undefined
    } else if (code === 0x2c) {
      // ,
      atKey = inObject
      place = inObject ? undefined : container?.star
    } else if (place !== undefined && code > 0x20 && code !== 0x3a) {
      const end = endOfLiteral(text, i)
      capture(i, end)
      i = end - 1
    }
  }
  return { depth: deepest, found }
}

/** The same for a capital letter and its small one. */
const shape = (length: number, firstCode: number): number => length * 32 + (firstCode & 31)

function childFor(container: Node, text: string, start: number, end: number, escaped: boolean): Node | undefined {
  if (!escaped && container.shapes[shape(end - start, text.charCodeAt(start))] !== true) return undefined
  const key = unescaped(text.slice(start, end))
  return container.exact.get(key) ?? container.folded.get(asciiLowerCase(key))
}

function unescaped(raw: string): string {
  if (!raw.includes('\\')) return raw
  try {
    return JSON.parse(`"${raw}"`)
  } catch {
    return raw
  }
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

/** The index after a number, true, false or null. */
function endOfLiteral(text: string, start: number): number {
  let i = start
  for (; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code <= 0x20 || code === 0x2c || code === 0x7d || code === 0x5d) break
  }
  return i
}

const newNode = (): Node => ({ exact: new Map(), folded: new Map(), shapes: [], star: undefined, pointers: [] })

function nodeAt(root: Node, { pointer, anyCase }: Pointer): Node {
  let node = root
  for (const part of pointer.split('/').slice(1)) {
    if (part === '*') node = node.star ??= newNode()
    else node = childNamed(node, part.replaceAll('~1', '/').replaceAll('~0', '~'), anyCase)
  }
  return node
}

/** A name that matches in any case takes every spelling, so it owns the exact one as well. */
function childNamed(node: Node, name: string, anyCase: boolean): Node {
  const [names, key] = anyCase ? [node.folded, asciiLowerCase(name)] : [node.exact, name]
  const child = names.get(key) ?? newNode()
  names.set(key, child)
  // Most senders spell a name as the pointer does: found at once, without folding.
  if (anyCase && !node.exact.has(name)) node.exact.set(name, child)
  node.shapes[shape(key.length, key.charCodeAt(0))] = true
  return child
}

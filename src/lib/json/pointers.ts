import { asciiLowerCase, fromByteText, toByteText } from '../text.ts'

/** A JSON Pointer to look for, in which `*` stands for each element of an array. */
export interface Pointer {
  readonly pointer: string
  /** Whether field names match in any case of ASCII letters. */
  readonly anyCase: boolean
}

/** One part of one or more pointers. */
export interface PointerNode {
  /** The pointer up to here, in lower case. */
  readonly path: string
  /** Fields, by the length and first letter of their names: this alone rules out most names. */
  readonly children: (Child[] | undefined)[]
  /** Any element of an array. */
  star: PointerNode | undefined
  /** Indexes of the pointers that end here. */
  readonly pointers: number[]
}

interface Child {
  /** Spelled as in the first pointer that has it, which is how most senders spell it. */
  readonly name: string
  /** In lower case, where any case matches. */
  readonly folded: string | undefined
  readonly node: PointerNode
}

export function pointerTree(pointers: readonly Pointer[]): PointerNode {
  const root = newNode('')
  for (const [index, pointer] of pointers.entries()) nodeAt(root, pointer).pointers.push(index)
  return root
}

/** Returns the node for the field name between `start` and `end` in byte text; it may hold escapes. */
export function childOf(node: PointerNode, text: string, start: number, end: number, escaped: boolean) {
  if (escaped) {
    const name = unescaped(text.slice(start, end))
    return childNamed(node, name, 0, name.length)
  }
  return childNamed(node, text, start, end)
}

/** Prefers a pointer with the exact spelling to one that differs in case. */
function childNamed({ children }: PointerNode, text: string, start: number, end: number): PointerNode | undefined {
  const sameShape = children[shape(text, start, end)]
  if (sameShape === undefined) return undefined
  for (const { name, node } of sameShape) if (text.startsWith(name, start)) return node
  const small = asciiLowerCase(text.slice(start, end))
  return sameShape.find(({ folded }) => folded === small)?.node
}

/** Is equal for names that differ in letter case only. */
const shape = (text: string, start: number, end: number): number =>
  start === end ? 0 : (end - start) * 32 + (text.charCodeAt(start) & 31)

const unescaped = (raw: string): string => (raw.includes('\\') ? toByteText(JSON.parse(`"${fromByteText(raw)}"`)) : raw)

/** Turns a field name into a part of a JSON Pointer (RFC 6901). */
export const pointerPart = (field: string): string => field.replaceAll('~', '~0').replaceAll('/', '~1')

/** Turns a part of a JSON Pointer into a field name. */
export const fieldName = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~')

const newNode = (path: string): PointerNode => ({ path, children: [], star: undefined, pointers: [] })

function nodeAt(root: PointerNode, { pointer, anyCase }: Pointer): PointerNode {
  let node = root
  for (const part of pointer.split('/').slice(1)) {
    if (part === '*') node = node.star ??= newNode(`${node.path}/*`)
    else node = addChild(node, part, anyCase)
  }
  return node
}

function addChild({ children, path }: PointerNode, part: string, anyCase: boolean): PointerNode {
  const name = toByteText(fieldName(part))
  const folded = anyCase ? asciiLowerCase(name) : undefined
  const place = shape(name, 0, name.length)
  const sameShape = children[place] ?? []
  children[place] = sameShape
  const there = sameShape.find((child) => (anyCase ? child.folded === folded : child.name === name))
  if (there !== undefined) return there.node
  const node = newNode(`${path}/${asciiLowerCase(part)}`)
  sameShape.push({ name, folded, node })
  return node
}

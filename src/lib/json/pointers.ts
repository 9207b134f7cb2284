import { asciiLowerCase } from '../ascii.ts'
import { fromByteText, toByteText } from '../byte-text.ts'

/** A place in JSON that is looked for: a JSON Pointer in which `*` stands for each element of an array. */
export interface Pointer {
  readonly pointer: string
  /** Whether field names match in any case of ASCII letters. */
  readonly anyCase: boolean
}

/** Where several pointers meet: one node for each part of them. */
export interface PointerNode {
  /** What lies under names, by length and first letter: most names are passed over by this alone. */
  readonly children: (Child[] | undefined)[]
  /** What lies under any element of an array. */
  star: PointerNode | undefined
  /** The pointers that end here, by their place in the list. */
  readonly pointers: number[]
}

interface Child {
  /** As the first pointer spells it, and most senders do. */
  readonly name: string
  /** In small letters, where any case matches. */
  readonly folded: string | undefined
  readonly node: PointerNode
}

export function pointerTree(pointers: readonly Pointer[]): PointerNode {
  const root = newNode()
  for (const [index, pointer] of pointers.entries()) nodeAt(root, pointer).pointers.push(index)
  return root
}

/** The node under the name that stands between `start` and `end` in byte text, as it was written. */
export function childOf(node: PointerNode, text: string, start: number, end: number, escaped: boolean) {
  if (escaped) {
    const name = unescaped(text.slice(start, end))
    return childNamed(node, name, 0, name.length)
  }
  return childNamed(node, text, start, end)
}

/** A name that is spelled as a pointer spells it comes before one that differs in case. */
function childNamed({ children }: PointerNode, text: string, start: number, end: number): PointerNode | undefined {
  const alike = children[shape(text, start, end)]
  if (alike === undefined) return undefined
  for (const { name, node } of alike) if (text.startsWith(name, start)) return node
  const small = asciiLowerCase(text.slice(start, end))
  return alike.find(({ folded }) => folded === small)?.node
}

/** The same for a capital letter and its small one. */
const shape = (text: string, start: number, end: number): number =>
  start === end ? 0 : (end - start) * 32 + (text.charCodeAt(start) & 31)

const unescaped = (raw: string): string => (raw.includes('\\') ? toByteText(JSON.parse(`"${fromByteText(raw)}"`)) : raw)

const newNode = (): PointerNode => ({ children: [], star: undefined, pointers: [] })

function nodeAt(root: PointerNode, { pointer, anyCase }: Pointer): PointerNode {
  let node = root
  for (const part of pointer.split('/').slice(1)) {
    if (part === '*') node = node.star ??= newNode()
    else node = addChild(node, toByteText(part.replaceAll('~1', '/').replaceAll('~0', '~')), anyCase)
  }
  return node
}

function addChild({ children }: PointerNode, name: string, anyCase: boolean): PointerNode {
  const folded = anyCase ? asciiLowerCase(name) : undefined
  const place = shape(name, 0, name.length)
  const alike = children[place] ?? []
  children[place] = alike
  const there = alike.find((child) => (anyCase ? child.folded === folded : child.name === name))
  if (there !== undefined) return there.node
  const node = newNode()
  alike.push({ name, folded, node })
  return node
}

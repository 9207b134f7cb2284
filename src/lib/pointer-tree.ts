import { asciiLowerCase } from './ascii.ts'
import { fromByteText, toByteText } from './byte-text.ts'

/** A place in JSON that is looked for: a JSON Pointer in which `*` stands for each element of an array. */
export interface Pointer {
  readonly pointer: string
  /** Whether field names match in any case of ASCII letters. */
  readonly anyCase: boolean
}

/** Where several pointers meet: one node for each part of them. */
export interface PointerNode {
  /** What lies under a name. */
  readonly exact: Map<string, PointerNode>
  readonly folded: Map<string, PointerNode>
  /** By length and first letter, whether a child's name has them: most names are passed over by this alone. */
  readonly shapes: boolean[]
  /** What lies under any element of an array. */
  star: PointerNode | undefined
  /** The pointers that end here, by their place in the list. */
  readonly pointers: number[]
}

export function pointerTree(pointers: readonly Pointer[]): PointerNode {
  const root = newNode()
  for (const [index, pointer] of pointers.entries()) nodeAt(root, pointer).pointers.push(index)
  return root
}

/** The node under the name that stands between `start` and `end` in byte text, as it was written. */
export function childOf(node: PointerNode, text: string, start: number, end: number, escaped: boolean) {
  if (!escaped && node.shapes[shape(end - start, text.charCodeAt(start))] !== true) return undefined
  const name = unescaped(text.slice(start, end))
  return node.exact.get(name) ?? node.folded.get(asciiLowerCase(name))
}

/** The same for a capital letter and its small one. */
const shape = (length: number, firstCode: number): number => length * 32 + (firstCode & 31)

const unescaped = (raw: string): string => (raw.includes('\\') ? toByteText(JSON.parse(`"${fromByteText(raw)}"`)) : raw)

const newNode = (): PointerNode => ({
  exact: new Map(),
  folded: new Map(),
  shapes: [],
  star: undefined,
  pointers: [],
})

function nodeAt(root: PointerNode, { pointer, anyCase }: Pointer): PointerNode {
  let node = root
  for (const part of pointer.split('/').slice(1)) {
    if (part === '*') node = node.star ??= newNode()
    else node = childNamed(node, toByteText(part.replaceAll('~1', '/').replaceAll('~0', '~')), anyCase)
  }
  return node
}

/** A name that matches in any case takes every spelling, so it owns the exact one as well. */
function childNamed(node: PointerNode, name: string, anyCase: boolean): PointerNode {
  const [names, key] = anyCase ? [node.folded, asciiLowerCase(name)] : [node.exact, name]
  const child = names.get(key) ?? newNode()
  names.set(key, child)
  // Most senders spell a name as the pointer does: found at once, without folding.
  if (anyCase && !node.exact.has(name)) node.exact.set(name, child)
  node.shapes[shape(key.length, key.charCodeAt(0))] = true
  return child
}

import { asciiLowerCase } from '#src/lib/ascii.ts'
import { fieldName } from '#src/lib/json/pointers.ts'
import { nearest } from '#src/lib/nearest.ts'

/** Returns the pointer that an unknown field of the object at `path` (lower case) was probably meant for. */
export type MeantFor = (path: string, field: string) => string | undefined

const LONGEST_FIELD = 64
/** Shorter names have too many neighbours for two edits. */
const TWO_EDITS_FROM = 6
const MOST_REMEMBERED = 1000

export function createMeantFor(pointers: readonly string[]): MeantFor {
  /** By path and by plain name. */
  const known = new Map<string, Map<string, string>>()
  for (const pointer of pointers) {
    const parts = pointer.split('/')
    for (const [index, part] of parts.entries()) {
      if (index === 0 || part === '*') continue
      const path = asciiLowerCase(parts.slice(0, index).join('/'))
      const fields = known.get(path) ?? new Map<string, string>()
      known.set(path, fields.set(plain(fieldName(part)), parts.slice(0, index + 1).join('/')))
    }
  }
  // Suppliers repeat the same few names, and comparing one with all costs microseconds.
  const remembered = new Map<string, string | undefined>()

  return (path, field) => {
    const fields = known.get(path)
    if (fields === undefined || field.length > LONGEST_FIELD) return undefined
    const key = `${path}/${field}`
    if (!remembered.has(key)) {
      if (remembered.size >= MOST_REMEMBERED) remembered.clear()
      const name = plain(field)
      const meant = nearest(name, fields.keys(), name.length < TWO_EDITS_FROM ? 1 : 2)
      remembered.set(key, meant === undefined ? undefined : fields.get(meant))
    }
    return remembered.get(key)
  }
}

/** Ignores letter case and separators: `Order_Id`, `order-id` and `OrderID` are alike. */
const plain = (field: string): string => asciiLowerCase(field).replace(/[^\p{L}\p{N}]/gu, '')

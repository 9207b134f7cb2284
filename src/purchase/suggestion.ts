import { fieldName } from '#src/lib/json/pointers.ts'
import { nearest } from '#src/lib/nearest.ts'
import { asciiLowerCase } from '#src/lib/text.ts'

/** Returns the pointer that an unknown field of the object at `path` (lower case) was probably meant for. */
export type Suggest = (path: string, field: string) => string | undefined

const MAX_FIELD_LENGTH = 64
/** Shorter names have too many neighbours for two edits. */
const TWO_EDITS_FROM = 6
const MAX_REMEMBERED = 1000

export function createSuggest(pointers: readonly string[]): Suggest {
  const objects = new Map<string, (field: string) => string | undefined>()
  for (const [path, fields] of fieldsByPath(pointers)) objects.set(path, caching(fields))
  return (path, field) => objects.get(path)?.(field)
}

/** Returns, for the path of each object, the pointers to its fields by their plain names. */
function fieldsByPath(pointers: readonly string[]): Map<string, Map<string, string>> {
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
  return known
}

/** Remembers answers: suppliers repeat the same few names, and comparing one with all takes microseconds. */
function caching(fields: ReadonlyMap<string, string>): (field: string) => string | undefined {
  const remembered = new Map<string, string | undefined>()
  return (field) => {
    const meant = remembered.get(field)
    if (meant !== undefined || remembered.has(field)) return meant
    if (field.length > MAX_FIELD_LENGTH || field.includes('\\')) return undefined
    const name = plain(field)
    const close = nearest(name, fields.keys(), name.length < TWO_EDITS_FROM ? 1 : 2)
    const pointer = close === undefined ? undefined : fields.get(close)
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(field, pointer)
    return pointer
  }
}

/** Ignores letter case and separators: `Order_Id`, `order-id` and `OrderID` are alike. */
const plain = (field: string): string => asciiLowerCase(field).replace(/[^\p{L}\p{N}]/gu, '')

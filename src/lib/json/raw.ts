const RAW = Symbol('raw')

/** JSON text that is copied into an answer unchanged: parsing and rewriting it would change numbers beyond 2^53. */
export interface RawJson {
  readonly [RAW]: Uint8Array
}

export const rawJson = (bytes: Uint8Array): RawJson => ({ [RAW]: bytes })

/** Does what JSON.stringify does for plain values, copies raw JSON byte for byte, and appends `end`. */
export function writeJson(value: unknown, end = ''): Buffer {
  const parts: Uint8Array[] = []
  let text = ''

  const write = (value: unknown): void => {
    if (!isObject(value)) text += JSON.stringify(value)
    else if (isRaw(value)) {
      parts.push(Buffer.from(text), value[RAW])
      text = ''
    } else if (Array.isArray(value)) {
      writeAll('[', value, (item) => write(item ?? null), ']')
    } else {
      const present = Object.entries(value).filter(([, item]) => item !== undefined)
      writeAll(
        '{',
        present,
        ([name, item]) => {
          text += `${JSON.stringify(name)}:`
          write(item)
        },
        '}',
      )
    }
  }

  const writeAll = <Item>(opening: string, items: readonly Item[], writeOne: (item: Item) => void, closing: string) => {
    text += opening
    for (const [index, item] of items.entries()) {
      if (index > 0) text += ','
      writeOne(item)
    }
    text += closing
  }

  write(value)
  return Buffer.concat([...parts, Buffer.from(text + end)])
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
const isRaw = (value: object): value is RawJson => RAW in value

import { readFileSync } from 'node:fs'
import type { TSchema } from '@sinclair/typebox'
import { NoInfer as parseType } from '@sinclair/typebox/syntax'

export interface PrintedShape {
  /** The name of a type; undefined for a command that prints no JSON. */
  readonly type: string | undefined
  readonly isLines: boolean
}

/** The shapes in docs/json.md, as JSON Schema. A schema of openapi.yaml stands as `{ $ref: NAME }`. */
export interface JsonShapes {
  readonly types: ReadonlyMap<string, TSchema>
  readonly commands: ReadonlyMap<string, PrintedShape>
  /** The schema of a type such as `Order[]`. */
  schemaOf(type: string): TSchema
}

const DEFINITION = /^type (\w+) =([\s\S]*?)(?=^type |^\/\/|(?![\s\S]))/gm
const ROW = /^\| `([a-z -]+)` \| (?:`([^`]+)`)?(.*)\|$/gm

export function readJsonShapes(): JsonShapes {
  const page = readFileSync(new URL('../docs/json.md', import.meta.url), 'utf8')
  const definitions = new Map(
    Array.from(page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)).flatMap(([, block = '']) =>
      Array.from(block.matchAll(DEFINITION), ([, name = '', code = '']) => [name, code.trim()] as const),
    ),
  )
  const types = new Map<string, TSchema>()
  /** A definition may use those below it. */
  const context = new Proxy<Record<string, TSchema>>(
    {},
    {
      has: (_, name) => definitions.has(String(name)),
      get: (_, name) => typeOf(String(name)),
    },
  )
  // Within brackets the parser refuses what is left over.
  const schemaOf = (code: string): TSchema => {
    const [schema] = (parseType(context, `[${code}]`).items as TSchema[] | undefined) ?? []
    if (schema === undefined) throw new Error(`docs/json.md: this is no type: ${code}`)
    return schema
  }
  const typeOf = (name: string): TSchema => {
    const known = types.get(name) ?? schemaOf(definitions.get(name) ?? '')
    types.set(name, known)
    return known
  }
  for (const name of definitions.keys()) typeOf(name)
  const commands = new Map(
    Array.from(page.matchAll(ROW), ([, name = '', type, more = '']) => [
      name,
      { type, isLines: more.includes('one a line') },
    ]),
  )
  return { types, commands, schemaOf }
}

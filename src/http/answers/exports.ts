import { type TSchema, Type } from '@sinclair/typebox'
import { CSV_SEPARATOR, csvLine, ndjsonLine } from '#src/lib/lines/exported.ts'

/** A page of a list: its entries, under their name, and where to continue. */
export interface ListPage {
  readonly NextCursor: string | null
}

type Entry = Readonly<Record<string, unknown>>

export const EXPORT_TYPES = ['text/csv', 'application/x-ndjson'] as const
export type ExportType = (typeof EXPORT_TYPES)[number]
export const ENDINGS = { 'text/csv': 'csv', 'application/x-ndjson': 'ndjson' } as const

const ANSWERS = {
  'text/csv': {
    schema: Type.String({
      title: 'CsvExport',
      description:
        'All that follows the cursor, whatever the limit: a line that names the separator, one of headings, and one for each entry. Every field is quoted.',
      examples: ['sep=,\r\n"OrderID","Status"\r\n"PO-1","2"\r\n'],
    }),
  },
  'application/x-ndjson': {
    schema: Type.String({
      title: 'NdjsonExport',
      description: 'All that follows the cursor, whatever the limit, one entry a line',
      examples: ['{"OrderID":"PO-1","Status":2}'],
    }),
  },
}

/** Describes a list that operators can export, with the route's `answerList`. */
export const exportable = <Schema extends { readonly description: string }>(schema: Schema) => ({
  ...schema,
  description: `${schema.description} Operators can export it.`,
  alsoAnswers: { 200: ANSWERS },
})

/** The entries of a list in the schema of its route: their name, and the names of their fields. */
export function entriesOf(schema: { readonly response?: unknown } = {}) {
  const answer = (schema.response as Readonly<Record<number, TSchema>>)[200]
  const found = Object.entries<TSchema>(answer?.properties.data.properties).find(([, { type }]) => type === 'array')
  if (found === undefined) throw new Error('a list without entries')
  const [name, { items }] = found
  return { name, columns: Object.keys(items.properties) }
}

export const entriesIn = (page: ListPage, name: string): readonly Entry[] => Object(page)[name]

/** Makes what stands before the entries, and their lines. */
export const linesOf = (type: ExportType, columns: readonly string[]) =>
  type === 'text/csv'
    ? {
        head: CSV_SEPARATOR + csvLine(columns),
        line: (entry: Entry) => csvLine(columns.map((column) => entry[column])),
      }
    : { head: '', line: (entry: Entry) => ndjsonLine(JSON.stringify(entry)) }

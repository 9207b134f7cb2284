import type { ComponentChildren } from 'preact'
import { customerName } from '../lib/customers.tsx'
import { statusText } from '../lib/foreign.tsx'
import type { Pages } from '../lib/pages.ts'
import { type TextKey, t } from '../lib/texts.ts'
import { ListHeading } from './export-menu.tsx'
import { type FilterField, Filters, NoResults } from './filters.tsx'
import { type Column, Table } from './table.tsx'
import { Ago } from './words.tsx'

export type Query = Readonly<Record<string, string | undefined>>

/** What rows of several lists have. */
export const STATUS: Column<{ readonly Status: number }> = {
  title: 'word.status',
  width: '12.5rem',
  cell: ({ Status }) => statusText(Status),
  only: ({ Status }) => ({ status: Status }),
}

export const CUSTOMER: Column<{ readonly CustomerID: string; readonly Customer?: string }> = {
  title: 'word.customer',
  cell: ({ CustomerID, Customer }) => customerName(CustomerID, Customer),
  only: ({ CustomerID }) => ({ customer: CustomerID }),
}

/** The last column: how long ago something was. */
export const agoColumn = <Row,>(title: TextKey, width: string, at: (row: Row) => string | null): Column<Row> => ({
  title,
  width,
  cell: (row, tabIndex) => <Ago at={at(row)} tabIndex={tabIndex} />,
})

interface ListProperties<Row, Cursor> {
  readonly name: 'deliveries' | 'orders' | 'customers' | 'refusals'
  /** The route whose rows can be exported, if they can. */
  readonly path: string | undefined
  /** What the list is filtered by, and may be. */
  readonly query: Query
  readonly fields: readonly FilterField[]
  readonly columns: readonly Column<Row>[]
  readonly pages: Pages<Row, Cursor>
  readonly linkOf: (row: Row) => string
  /** What to show if there is nothing, whatever it is filtered by. */
  readonly none: ComponentChildren
  /** What else there is to do, beside the heading. */
  readonly actions?: ComponentChildren
  /** Between the filters and the table. */
  readonly children?: ComponentChildren
}

/** A view that is one list: its heading, its filters and its rows. */
export function List<Row, Cursor>(properties: ListProperties<Row, Cursor>) {
  const { name, path, query, fields, columns, pages, linkOf, none, actions, children } = properties
  const title = t(`word.${name}`)
  const isFiltered = fields.some((field) => query[field.name])
  return (
    <>
      <ListHeading title={title} path={path} query={query} name={name}>
        {actions}
      </ListHeading>
      <Filters fields={fields} parameters={query} />
      {children}
      <Table
        label={title}
        columns={columns}
        pages={pages}
        linkOf={linkOf}
        empty={isFiltered ? <NoResults fields={fields} /> : none}
      />
    </>
  )
}

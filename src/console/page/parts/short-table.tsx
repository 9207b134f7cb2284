import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { printing } from '../lib/printing.ts'
import { type TextKey, t } from '../lib/texts.ts'

export interface ShortColumn<Row> {
  /** Left out for what can be done with a row. */
  readonly title?: TextKey
  readonly look?: 'number' | 'time' | 'why' | 'row-actions'
  readonly cell: (row: Row) => ComponentChildren
  /** Names the row. */
  readonly isHead?: boolean
}

interface ShortTableProperties<Row> {
  readonly label: string
  readonly look: string
  readonly columns: readonly (ShortColumn<Row> | false)[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  /** The key of the row that somebody looks for. */
  readonly marked?: string | undefined
  /** How many rows are shown until somebody wants all. */
  readonly first?: number
}

/** A table whose rows are read at once. Their cells may have several lines. */
export function ShortTable<Row>(properties: ShortTableProperties<Row>) {
  const { label, look, columns, rows, keyOf, marked, first = rows.length } = properties
  const [all, setAll] = useState(false)
  const shown = all || printing.value ? rows : rows.slice(0, first)
  const cells = columns.filter((column) => column !== false)
  return (
    <>
      <div class="table" tabIndex={0} role="region" aria-label={label}>
        <table class={look}>
          <thead>
            <tr>
              {cells.map(({ title, look }, index) =>
                title === undefined ? (
                  <td key={index}></td>
                ) : (
                  <th key={index} scope="col" class={look}>
                    {t(title)}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={keyOf(row)} class={keyOf(row) === marked ? 'marked' : undefined}>
                {cells.map(({ look, cell, isHead }, index) =>
                  isHead ? (
                    <th key={index} scope="row">
                      {cell(row)}
                    </th>
                  ) : (
                    <td key={index} class={look}>
                      {cell(row)}
                    </td>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < rows.length && (
        <p>
          <button onClick={() => setAll(true)}>{t('table.showAll', { count: rows.length })}</button>
        </p>
      )}
    </>
  )
}

interface NumberTableProperties {
  readonly caption: string
  readonly columns: readonly string[]
  readonly rows: readonly { readonly label: string; readonly values: readonly string[] }[]
}

/** The numbers of a chart, for screen readers and on paper. */
export const NumberTable = ({ caption, columns, rows }: NumberTableProperties) => (
  <div class="visually-hidden">
    <table>
      <caption>{caption}</caption>
      <thead>
        <tr>
          <th scope="col">{t('word.time')}</th>
          {columns.map((name) => (
            <th key={name} scope="col" class="number">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ label, values }, index) => (
          <tr key={index}>
            <th scope="row">{label}</th>
            {values.map((value, place) => (
              <td key={place} class="number">
                {value}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

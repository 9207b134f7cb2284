import { useMemo } from 'preact/hooks'
import { STATUSES, statusText } from '../../lib/foreign.tsx'
import { hourAndMinute, whole } from '../../lib/format.ts'
import { language, zone } from '../../lib/preferences.ts'
import { t } from '../../lib/texts.ts'
import { NumberTable } from '../short-table.tsx'
import { COLUMN_WORDS, type Column, type Each, type Span, totalsOf } from './ranges.ts'

const MINUTE = 60_000
const OFTEN = 15_000

/** Columns of a minute are few enough to be read. */
function minutes(columns: readonly Column[]): Column[] {
  const byMinute = Map.groupBy(columns, ({ from }) => Math.floor(from / MINUTE))
  return [...byMinute.values()].map(totalsOf)
}

/** The numbers of the chart for screen readers and on paper. They change at most every 15 seconds. */
export function ChartTable({ columns, each }: { readonly columns: readonly Column[]; readonly each: Each }) {
  const often = each === 'live' ? Math.floor((columns.at(-1)?.to ?? 0) / OFTEN) : columns
  return useMemo(() => {
    const time = each === 'live' ? ({ from }: Span) => hourAndMinute(from) : COLUMN_WORDS[each].time
    const rows = each === 'live' ? minutes(columns) : columns
    return (
      <NumberTable
        caption={t(each === 'live' ? 'now.table.live' : `now.chart.${each}`)}
        columns={[...STATUSES.map(statusText), t('word.duplicates')]}
        rows={rows.map((row) => ({ label: time(row), values: [...row.byStatus, row.duplicates].map(whole) }))}
      />
    )
  }, [often, each, language.value, zone.value])
}

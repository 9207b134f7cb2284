import { useMemo } from 'preact/hooks'
import { hourAndMinute, whole } from '../../lib/format.ts'
import { language, zone } from '../../lib/preferences.ts'
import { t } from '../../lib/texts.ts'
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
      <div class="visually-hidden">
        <table>
          <caption>{each === 'live' ? t('now.table.live') : t(`now.chart.${each}`)}</caption>
          <thead>
            <tr>
              <th scope="col">{t('word.time')}</th>
              {([0, 1, 2, 3] as const).map((status) => (
                <th scope="col" class="number" key={status}>
                  {t(`status.${status}`)}
                </th>
              ))}
              <th scope="col" class="number">
                {t('word.duplicates')}
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.from}>
                <th scope="row">{time(row)}</th>
                {[...row.byStatus, row.duplicates].map((count, index) => (
                  <td class="number" key={index}>
                    {whole(count)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    )
  }, [often, each, language.value, zone.value])
}

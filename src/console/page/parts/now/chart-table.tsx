import { useMemo } from 'preact/hooks'
import { hourAndMinute, whole } from '../../lib/format.ts'
import { language, zone } from '../../lib/preferences.ts'
import { t } from '../../lib/texts.ts'
import { COLUMN_WORDS, totalsOf } from './ranges.ts'

const MINUTE = 60_000
const OFTEN = 15_000

/** Columns of a minute are few enough to be read. */
function minutes(columns) {
  const byMinute = Map.groupBy(columns, ({ from }) => Math.floor(from / MINUTE))
  return [...byMinute.values()].map(totalsOf)
}

/** The numbers of the chart for screen readers and on paper. They change at most every 15 seconds. */
export function ChartTable({ columns, each }) {
  const live = each === 'live'
  const often = live ? Math.floor(columns.at(-1).to / OFTEN) : columns
  return useMemo(() => {
    const time = live ? ({ from }) => hourAndMinute(from) : COLUMN_WORDS[each].time
    const rows = live ? minutes(columns) : columns
    return (
      <div class="visually-hidden">
        <table>
          <caption>{live ? t('now.table.live') : t(`now.chart.${each}`)}</caption>
          <thead>
            <tr>
              <th scope="col">{t('word.time')}</th>
              {[0, 1, 2, 3].map((status) => (
                <th scope="col" class="number">
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
                {row.byStatus.map((count) => (
                  <td class="number">{whole(count)}</td>
                ))}
                <td class="number">{whole(row.duplicates)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    )
  }, [often, each, language.value, zone.value])
}

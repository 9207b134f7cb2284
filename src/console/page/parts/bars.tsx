import { whole } from '../lib/format.ts'
import { t } from '../lib/texts.ts'
import { NumberTable } from './short-table.tsx'

const HEIGHT = 56

type Value = number | null | undefined

interface Series {
  readonly name: string
  readonly look: 'plain' | 'bad'
  readonly values: readonly Value[]
}

interface BarsProperties {
  readonly title: string
  readonly labels: readonly string[]
  /** Each lies on the one before. */
  readonly series: readonly Series[]
  readonly format?: (value: number) => string
}

/** A small bar chart, and the same as a table for screen readers. */
export function Bars({ title, labels, series, format = whole }: BarsProperties) {
  const sums = labels.map((_, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0))
  const most = Math.max(0, ...sums)
  return (
    <figure class="bars">
      <figcaption>
        <span>{title}</span>
        {series.map(
          ({ name, look }) =>
            name !== title && (
              <small key={look} class={`legend ${look}`}>
                {name}
              </small>
            ),
        )}
        <span class="note">{t('bars.most', { value: format(most) })}</span>
      </figcaption>
      <svg aria-hidden="true" viewBox={`0 0 ${labels.length * 10} ${HEIGHT}`} preserveAspectRatio="none">
        {labels.map((label, index) => bar({ label, index, series, most, format }))}
      </svg>
      <div class="ends note" aria-hidden="true">
        <span>{labels[0]}</span>
        <span>{labels.at(-1)}</span>
      </div>
      <NumberTable
        caption={title}
        columns={series.map(({ name }) => name)}
        rows={labels.map((label, index) => ({
          label,
          values: series.map(({ values }) => shown(values[index], format)),
        }))}
      />
    </figure>
  )
}

const shown = (value: Value, format: (value: number) => string) =>
  value === null || value === undefined ? '–' : format(value)

interface BarProperties extends Required<Pick<BarsProperties, 'series' | 'format'>> {
  readonly label: string
  readonly index: number
  readonly most: number
}

function bar({ label, index, series, most, format }: BarProperties) {
  let top = HEIGHT
  const said = series.map(({ name, values }) => `${name}: ${shown(values[index], format)}`)
  return (
    <g>
      <title>{`${label}\n${said.join('\n')}`}</title>
      <rect class="behind" x={index * 10} y="0" width="10" height={HEIGHT} />
      {series.map(({ look, values }) => {
        const value = values[index] ?? 0
        if (value === 0) return null
        const height = Math.max((value / most) * (HEIGHT - 2), 1)
        top -= height
        return <rect class={look} x={index * 10 + 1.5} y={top} width="7" height={height} />
      })}
    </g>
  )
}

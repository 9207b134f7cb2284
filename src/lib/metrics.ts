/** One value of a counter. Hot paths keep it and add to `value`. */
export interface Count {
  value: number
}

export type Labels = Readonly<Record<string, string>>

/** A value with its labels; `undefined` leaves the sample out. */
export type Reading = readonly [Labels, number | undefined]

/** What a gauge reads at each scrape: one value, or several with labels. */
type Readings = number | undefined | readonly Reading[]
type Read = () => Readings | Promise<Readings>

export type Format = 'text' | 'openmetrics'

/** Everything that can be scraped. Modules describe what they count here, once, under a name of its own. */
export type Metrics = ReturnType<typeof createMetrics>

interface Family {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary'
  readonly help: string
  /** Lines of samples. */
  readonly lines: () => string | Promise<string>
}

/** How long a scrape waits for one gauge: a store that hangs must not hide everything else. */
const PATIENCE_MILLISECONDS = 2500

export function createMetrics() {
  const families = new Map<string, Family>()

  const add = (family: Family): void => {
    if (families.has(family.name)) throw new Error(`the metric ${family.name} is described twice`)
    families.set(family.name, family)
  }

  const addRead = (type: Family['type'], name: string, help: string, read: Read): void =>
    add({ name, help, type, lines: async () => sampleLines(name, await read()) })

  return {
    /** Returns the count under each combination of labels; a combination appears when it is first asked for. */
    counter(name: string, help: string) {
      const counts = keptByLabels((): Count => ({ value: 0 }))
      const lines = () => counts.lines((text, { value }) => sample(name, text, value))
      add({ name, help, type: 'counter', lines })
      return counts.of
    },
    /** Returns the histogram under each combination of labels. */
    histogram(name: string, help: string, bounds: readonly number[]) {
      const histograms = keptByLabels(() => createHistogram(bounds))
      const lines = () => histograms.lines((text, one) => bucketLines(name, text, one))
      add({ name, help, type: 'histogram', lines })
      return histograms.of
    },
    /** Shows a histogram that somebody else keeps. Left out of a scrape while `read` fails. */
    showHistogram: (name: string, help: string, read: () => Histogram) =>
      add({ name, help, type: 'histogram', lines: () => bucketLines(name, '', read()) }),
    /** Read only at a scrape. Left out of a scrape while it fails or takes too long. */
    gauge: (name: string, help: string, read: Read) => addRead('gauge', name, help, read),
    /** Like a gauge, but its values only rise. */
    readCounter: (name: string, help: string, read: Read) => addRead('counter', name, help, read),
    /** Like a gauge whose labels are `quantile`s. */
    summary: (name: string, help: string, read: Read) => addRead('summary', name, help, read),
    /** The whole scrape, in the Prometheus text format 0.0.4 or OpenMetrics 1.0. */
    async text(format: Format) {
      const parts = await Promise.all(Array.from(families.values(), (family) => familyText(family, format)))
      return parts.join('') + (format === 'openmetrics' ? '# EOF\n' : '')
    },
  }
}

/** Keeps one value for each combination of labels, with its labels as text. */
function keptByLabels<Value>(make: () => Value) {
  const kept = new Map<string, Value>()
  return {
    of(labels: Labels): Value {
      const text = labelText(labels)
      const value = kept.get(text) ?? make()
      kept.set(text, value)
      return value
    },
    lines: (line: (labels: string, value: Value) => string): string =>
      Array.from(kept, ([text, value]) => line(text, value)).join(''),
  }
}

const linesOf = ({ lines }: Family): Promise<string> =>
  within(PATIENCE_MILLISECONDS, Promise.resolve().then(lines)).catch(() => '')

/** A family without samples is left out: the name alone says nothing. */
async function familyText(family: Family, format: Format): Promise<string> {
  const { name, type, help } = family
  const samples = await linesOf(family)
  if (samples === '') return ''
  const shown = format === 'openmetrics' && type === 'counter' ? name.replace(/_total$/, '') : name
  return `# HELP ${shown} ${help}\n# TYPE ${shown} ${type}\n${samples}`
}

const sampleLines = (name: string, readings: Readings): string =>
  (Array.isArray(readings) ? (readings as readonly Reading[]) : [[{}, readings] as Reading])
    .map(([labels, value]) => (value === undefined ? '' : sample(name, labelText(labels), value)))
    .join('')

function bucketLines(name: string, labels: string, { bounds, counts, sum }: Histogram): string {
  const before = labels === '' ? '' : `${labels},`
  let total = 0
  let text = ''
  for (const [index, bound] of bounds.entries()) {
    total += counts[index] as number
    text += `${name}_bucket{${before}le="${decimal(bound)}"} ${total}\n`
  }
  total += counts[bounds.length] as number
  text += `${name}_bucket{${before}le="+Inf"} ${total}\n`
  return text + sample(`${name}_sum`, labels, sum()) + sample(`${name}_count`, labels, total)
}

const sample = (name: string, labels: string, value: number): string =>
  `${name}${labels === '' ? '' : `{${labels}}`} ${value}\n`

/** Spells a bucket's bound alike in both formats: another spelling would be another series. */
export const decimal = (bound: number): string => (Number.isInteger(bound) ? bound.toFixed(1) : String(bound))

const ESCAPED: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' }

const labelText = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, (character) => ESCAPED[character] as string)}"`)
    .join(',')

/** Rejects when a promise takes longer. */
export function within<Value>(milliseconds: number, promise: Promise<Value>): Promise<Value> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('took too long')), milliseconds)
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Counts values by size. Observing costs a few additions. */
export type Histogram = ReturnType<typeof createHistogram>

export function createHistogram(bounds: readonly number[]) {
  const counts = new Float64Array(bounds.length + 1)
  const sum = new Float64Array(1)
  return {
    observe(value: number) {
      let bucket = 0
      while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++
      counts[bucket] = (counts[bucket] as number) + 1
      sum[0] = (sum[0] as number) + value
    },
    bounds,
    /** One more than there are bounds: the last one counts what is above all of them. */
    counts,
    sum: () => sum[0] as number,
  }
}

/** Seconds from half a millisecond to ten seconds. */
export const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/**
 * Estimates a quantile from counts by bucket, as Prometheus does: the values of a bucket count as evenly spread, and those above the
 * last bound as equal to it. Undefined without values.
 */
export function quantileOf(
  bounds: readonly number[],
  counts: Readonly<Float64Array>,
  quantile: number,
): number | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return undefined
  let before = 0
  for (const [bucket, bound] of bounds.entries()) {
    const count = counts[bucket] as number
    if (count > 0 && before + count >= total * quantile) {
      const lower = bounds[bucket - 1] ?? 0
      return lower + ((bound - lower) * (total * quantile - before)) / count
    }
    before += count
  }
  return bounds.at(-1)
}

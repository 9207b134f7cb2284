import { createHistogram, type Histogram } from './histogram.ts'

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
export interface Metrics {
  /** Returns the count under each combination of labels; a combination appears when it is first asked for. */
  counter(name: string, help: string): (labels: Labels) => Count
  /** Returns the histogram under each combination of labels. */
  histogram(name: string, help: string, bounds: readonly number[]): (labels: Labels) => Histogram
  /** Shows a histogram that somebody else keeps. Left out of a scrape while `read` fails. */
  showHistogram(name: string, help: string, read: () => Histogram): void
  /** Read only at a scrape. Left out of a scrape while it fails or takes too long. */
  gauge(name: string, help: string, read: Read): void
  /** Like a gauge, but each thread has its own, and a scrape shows their sum. */
  threadGauge(name: string, help: string, read: Read): void
  /** Like a gauge, but its values only rise. */
  readCounter(name: string, help: string, read: Read): void
  /** Like a gauge whose labels are `quantile`s. A scrape shows the greatest of each thread. */
  summary(name: string, help: string, read: Read): void
  /** The whole scrape, in the Prometheus text format 0.0.4 or OpenMetrics 1.0, with what other threads have. */
  text(format: Format, others?: readonly ThreadSamples[]): Promise<string>
  /** What a thread adds to the scrape of another one. */
  ofThread(): Promise<ThreadSamples>
}

/** Lines of samples, by the name of their family. */
export type ThreadSamples = Readonly<Record<string, string>>

/** Makes one value of those of two threads. */
type Merge = (one: number, other: number) => number

const sum: Merge = (one, other) => one + other

interface Family {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary'
  readonly help: string
  /** Lines of samples. */
  readonly lines: () => string | Promise<string>
  /** Undefined for what every thread would read alike. */
  readonly merge?: Merge
}

/** How long a scrape waits for one gauge: a store that hangs must not hide everything else. */
const PATIENCE_MILLISECONDS = 2000

export function createMetrics(): Metrics {
  const families = new Map<string, Family>()

  const add = (family: Family): void => {
    if (families.has(family.name)) throw new Error(`the metric ${family.name} is described twice`)
    families.set(family.name, family)
  }

  const addRead = (type: Family['type'], name: string, help: string, read: Read, merge?: Merge): void =>
    add({ name, help, type, lines: async () => sampleLines(name, await read()), ...(merge && { merge }) })

  return {
    counter(name, help) {
      const counts = keptByLabels((): Count => ({ value: 0 }))
      const lines = () => counts.lines((text, { value }) => sample(name, text, value))
      add({ name, help, type: 'counter', merge: sum, lines })
      return counts.of
    },
    histogram(name, help, bounds) {
      const histograms = keptByLabels(() => createHistogram(bounds))
      const lines = () => histograms.lines((text, one) => bucketLines(name, text, one))
      add({ name, help, type: 'histogram', merge: sum, lines })
      return histograms.of
    },
    showHistogram: (name, help, read) =>
      add({ name, help, type: 'histogram', merge: sum, lines: () => bucketLines(name, '', read()) }),
    gauge: (name, help, read) => addRead('gauge', name, help, read),
    threadGauge: (name, help, read) => addRead('gauge', name, help, read, sum),
    readCounter: (name, help, read) => addRead('counter', name, help, read),
    summary: (name, help, read) => addRead('summary', name, help, read, Math.max),
    async text(format, others = []) {
      const parts = await Promise.all(Array.from(families.values(), (family) => familyText(family, format, others)))
      return parts.join('') + (format === 'openmetrics' ? '# EOF\n' : '')
    },
    async ofThread() {
      const own = Array.from(families.values()).filter(({ merge }) => merge !== undefined)
      return Object.fromEntries(await Promise.all(own.map(async (family) => [family.name, await linesOf(family)])))
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
async function familyText(family: Family, format: Format, others: readonly ThreadSamples[]): Promise<string> {
  const { name, type, help, merge } = family
  const own = await linesOf(family)
  const samples =
    merge === undefined || others.length === 0 ? own : merged(merge, [own, ...others.map((o) => o[name] ?? '')])
  if (samples === '') return ''
  const shown = format === 'openmetrics' && type === 'counter' ? name.replace(/_total$/, '') : name
  return `# HELP ${shown} ${help}\n# TYPE ${shown} ${type}\n${samples}`
}

/** Merges the values of samples that several threads have. */
function merged(merge: Merge, texts: readonly string[]): string {
  const values = new Map<string, number>()
  for (const line of texts.join('').split('\n')) {
    const end = line.lastIndexOf(' ')
    if (end < 0) continue
    const [name, value] = [line.slice(0, end), Number(line.slice(end + 1))]
    const known = values.get(name)
    values.set(name, known === undefined ? value : merge(known, value))
  }
  return Array.from(values, ([name, value]) => `${name} ${value}\n`).join('')
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

import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { getFile } from '../lib/api.ts'
import { ApiError } from '../lib/request.ts'
import { t } from '../lib/texts.ts'
import { Problem } from './problem.tsx'
import { Dropdown } from './shell/menu.tsx'

const FORMATS = ['csv', 'ndjson'] as const
type Format = (typeof FORMATS)[number]
const TYPES = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const
/** Lines of a file that are no rows: of CSV the separator and the headings. */
const HEAD_LINES = { csv: 2, ndjson: 0 } as const
const LINE_BREAK = 10

interface ExportProperties {
  /** The route of the list; undefined for none. */
  readonly path: string | undefined
  /** What the list is filtered by. */
  readonly query: Readonly<Record<string, unknown>>
  readonly name: string
}

interface HeadingProperties extends ExportProperties {
  readonly title: string
  readonly children?: ComponentChildren
}

/** The heading of a list, and beside it the export and what else there is to do. */
export const ListHeading = ({ title, children, ...list }: HeadingProperties) => (
  <div class="line heading">
    <h1>{title}</h1>
    <div class="line">
      <ExportMenu {...list} />
      {children}
    </div>
  </div>
)

/** Saves all that a list has, as it is filtered. While it lasts it says how many rows there are so far. */
function ExportMenu({ path, query, name }: ExportProperties) {
  const leaving = useRef<AbortController>(undefined)
  const [running, setRunning] = useState<{ readonly rows: number; readonly cancel: () => void }>()
  const [saved, setSaved] = useState<number>()
  const [error, setError] = useState<ApiError>()
  useEffect(() => () => leaving.current?.abort(), [])

  const begin = async (format: Format, button: HTMLElement) => {
    if (path === undefined) return
    const reading = new AbortController()
    const { signal } = reading
    const cancel = () => reading.abort()
    leaving.current = reading
    button.closest('details')?.removeAttribute('open')
    setError(undefined)
    setSaved(undefined)
    setRunning({ rows: 0, cancel })
    try {
      const answer = await getFile(path, query, TYPES[format], signal)
      const { file, rows } = await readRows(answer, format, (so) => setRunning({ rows: so, cancel }))
      save(file, `${name}.${format}`)
      setSaved(rows)
    } catch (problem) {
      // A part of a file is not saved: nobody could tell it from the whole.
      if (!signal.aborted) setError(problem instanceof ApiError ? problem : new ApiError(0, { errorCode: 'NETWORK' }))
    }
    setRunning(undefined)
  }

  if (path === undefined) return null
  return (
    <div class="exporting line">
      <span class="note" role="status">
        {running && t('export.running', { count: running.rows })}
        {saved !== undefined && t('export.saved', { count: saved })}
      </span>
      {running ? (
        <button onClick={running.cancel}>{t('action.cancel')}</button>
      ) : (
        <Dropdown look="export" label={t('export.title')}>
          {FORMATS.map((format) => (
            <button key={format} type="button" onClick={(event) => begin(format, event.currentTarget)}>
              {t(`export.${format}`)}
            </button>
          ))}
        </Dropdown>
      )}
      {error && <Problem error={error} />}
    </div>
  )
}

export function save(file: Blob, name: string): void {
  const url = URL.createObjectURL(file)
  const link = Object.assign(document.createElement('a'), { href: url, download: name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 1000)
}

/** Reads an answer to its end, and counts the lines meanwhile. It rejects if there is no end. */
async function readRows(answer: Response, format: Format, onRows: (rows: number) => void) {
  const parts: Uint8Array<ArrayBuffer>[] = []
  let lines = 0
  const rows = () => Math.max(0, lines - HEAD_LINES[format])
  const reader = answer.body?.getReader()
  for (let piece = await reader?.read(); piece?.value !== undefined; piece = await reader?.read()) {
    parts.push(piece.value)
    for (const byte of piece.value) if (byte === LINE_BREAK) lines++
    onRows(rows())
  }
  return { file: new Blob(parts, { type: TYPES[format] }), rows: rows() }
}

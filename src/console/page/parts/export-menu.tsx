import { useEffect, useRef, useState } from 'preact/hooks'
import { getFile } from '../lib/api.ts'
import { whole } from '../lib/format.ts'
import type { ApiError } from '../lib/request.ts'
import { t } from '../lib/texts.ts'
import { save } from './export.tsx'
import { Problem } from './problem.tsx'

const FORMATS = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const
type Format = keyof typeof FORMATS

interface ExportProperties {
  readonly path: string
  /** What the list is filtered by. */
  readonly query: Readonly<Record<string, unknown>>
  readonly name: string
}

interface Running {
  readonly rows: number
  readonly cancel: () => void
}

/** Saves all that a list has, as it is filtered. While it lasts it says how many rows there are so far. */
export function ExportMenu({ path, query, name }: ExportProperties) {
  const menu = useRef<HTMLDetailsElement>(null)
  const leaving = useRef<AbortController>(undefined)
  const [running, setRunning] = useState<Running>()
  const [saved, setSaved] = useState<number>()
  const [error, setError] = useState<ApiError>()
  useEffect(() => () => leaving.current?.abort(), [])

  const begin = async (format: Format) => {
    const { signal } = (leaving.current = new AbortController())
    const cancel = () => leaving.current?.abort()
    if (menu.current) menu.current.open = false
    setError(undefined)
    setSaved(undefined)
    setRunning({ rows: 0, cancel })
    try {
      const answer = await getFile(path, query, FORMATS[format], signal)
      const { file, rows } = await readRows(answer, format, (rows) => setRunning({ rows, cancel }))
      save(file, `${name}.${format}`)
      setSaved(rows)
    } catch (problem) {
      // A part of a file is not saved: nobody could tell it from the whole.
      if (!signal.aborted) setError(problem as ApiError)
    }
    setRunning(undefined)
  }

  return (
    <div class="export">
      {running ? (
        <button onClick={running.cancel}>{t('action.cancel')}</button>
      ) : (
        <details class="menu" ref={menu} onFocusOut={closeUnlessInside}>
          <summary class="button">{t('export.title')}</summary>
          <div class="sheet options">
            <button type="button" onClick={() => begin('csv')}>
              {t('export.csv')}
            </button>
            <button type="button" onClick={() => begin('ndjson')}>
              {t('export.ndjson')}
            </button>
          </div>
        </details>
      )}
      <span class="note" role="status">
        {running && t('export.running', counted(running.rows))}
        {saved !== undefined && t('export.saved', counted(saved))}
      </span>
      {error && <Problem error={error} />}
    </div>
  )
}

const counted = (number: number) => ({ number, count: whole(number) })

import { effect } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { frame } from './live.js'

const AGAIN_MILLISECONDS = 1000

/**
 * Puts new deliveries on top of `pages`. `fits` says whether a delivery belongs to the list, or undefined if only the server
 * can say; then `readFirst` reads the newest page again, at most once a second.
 */
export function useLiveRows(pages, { fits, readFirst }) {
  useEffect(() => {
    let timer
    let ended = false
    let again = false

    const read = async () => {
      again = false
      timer = setTimeout(() => {
        timer = undefined
        if (again) void read()
      }, AGAIN_MILLISECONDS)
      const page = await readFirst().catch(() => undefined)
      if (ended || page === undefined) return
      const { rows } = pages.state.peek()
      const keys = new Set(rows.map(pages.keyOf))
      const gap = page.next !== null && rows.length > 0 && !page.rows.some((row) => keys.has(pages.keyOf(row)))
      pages.arrive(page.rows, { gap })
    }

    const first = frame.peek()
    const stop = effect(() => {
      const { Newest: newest = [], Skipped: skipped = 0, Since: since } = frame.value ?? {}
      // What had come before is in the first page, too.
      if (newest.length === 0 || frame.value === first) return
      const judged = newest.map((row) => [row, fits(row)])
      const unsure = judged.some(([, fit]) => fit === undefined)
      const fitting = judged.filter(([, fit]) => fit === true).map(([row]) => row)
      if (!unsure && since === undefined && (skipped === 0 || fitting.length === newest.length)) {
        return pages.arrive(fitting, { gap: skipped > 0 })
      }
      if (timer === undefined) void read()
      else again = true
    })
    return () => {
      ended = true
      clearTimeout(timer)
      stop()
    }
  }, [pages])
}

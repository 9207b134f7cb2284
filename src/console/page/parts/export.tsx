import { useEffect, useState } from 'preact/hooks'
import { t } from '../lib/texts.ts'

/** Saves bytes as a file. */
export function download(bytes, name, type = 'application/json') {
  const url = URL.createObjectURL(new Blob([bytes], { type }))
  const link = Object.assign(document.createElement('a'), { href: url, download: name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 1000)
}

/** Copies a text. Outside a secure context browsers offer only the old way. Returns whether it worked. */
export async function copy(text) {
  if (navigator.clipboard) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
  }
  const area = Object.assign(document.createElement('textarea'), { value: text })
  document.body.append(area)
  area.select()
  const done = document.execCommand('copy')
  area.remove()
  return done
}

const SHOWN_MILLISECONDS = 2000

/** A button that copies a text and says whether it worked. */
export function CopyButton({ text, label }) {
  const [done, setDone] = useState()
  useEffect(() => {
    const timer = setTimeout(() => setDone(undefined), SHOWN_MILLISECONDS)
    return () => clearTimeout(timer)
  }, [done])
  const said = done === undefined ? undefined : done ? t('copy.done') : t('copy.failed')
  return (
    <>
      <button onClick={async () => setDone(await copy(text))}>{said ?? label}</button>
      <span class="visually-hidden" role="status">
        {said}
      </span>
    </>
  )
}

import { useEffect, useState } from 'preact/hooks'
import { copy } from '../../../page/copy.ts'
import { t } from '../lib/texts.ts'

/** Saves bytes as a file. */
export function download(bytes: BlobPart, name: string, type = 'application/json'): void {
  save(new Blob([bytes], { type }), name)
}

export function save(file: Blob, name: string): void {
  const url = URL.createObjectURL(file)
  const link = Object.assign(document.createElement('a'), { href: url, download: name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 1000)
}

const SHOWN_MILLISECONDS = 2000

/** A button that copies a text and says whether it worked. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [done, setDone] = useState<boolean>()
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

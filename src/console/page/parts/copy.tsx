import { useEffect, useState } from 'preact/hooks'
import { copy } from '../../../page/copy.ts'
import { t } from '../lib/texts.ts'
import { Icon } from './icon.tsx'

const SHOWN_MILLISECONDS = 2000

/** Copies a text, and says for a moment whether it worked. */
export function useCopy(text: string) {
  const [said, setSaid] = useState<string>()
  useEffect(() => {
    const timer = setTimeout(() => setSaid(undefined), SHOWN_MILLISECONDS)
    return () => clearTimeout(timer)
  }, [said])
  return { said, onClick: async () => setSaid(t((await copy(text)) ? 'copy.done' : 'copy.failed')) }
}

/** A small button that copies a text, beside it. */
export function Copy({ text, name }: { readonly text: string; readonly name: string }) {
  const { said, onClick } = useCopy(text)
  return (
    <button
      class="copy"
      aria-label={t('copy.what', { name })}
      title={said ?? t('copy.what', { name })}
      onClick={onClick}
    >
      <Icon name={said ? 'check' : 'copy'} />
      <span class="visually-hidden" role="status">
        {said}
      </span>
    </button>
  )
}

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const { said, onClick } = useCopy(text)
  return (
    <>
      <button onClick={onClick}>{said ?? label}</button>
      <span class="visually-hidden" role="status">
        {said}
      </span>
    </>
  )
}

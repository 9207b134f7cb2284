import { useRef, useState } from 'preact/hooks'
import { copy as copyText } from '../../../page/copy.ts'
import { Sentence } from '../lib/foreign.tsx'
import { type TextKey, t } from '../lib/texts.ts'
import { useStay } from './action-form.tsx'
import { type Closing, showDialog } from './dialog.tsx'

interface SecretProperties {
  readonly title: TextKey
  /** What it is for, and whose it is. */
  readonly about: TextKey
  readonly name: string
  readonly secret: string
  readonly once?: TextKey
  /** A command that uses it. */
  readonly sample?: string
}

/** Shows a key or a password once. Closing without having copied it asks again. */
export const showSecret = (properties: SecretProperties): void => showDialog(Secret, properties)

function Secret({ title, about, name, secret, once = 'secret.once', sample, close }: SecretProperties & Closing) {
  const box = useRef<HTMLDivElement>(null)
  const text = useRef<HTMLElement>(null)
  const [copied, setCopied] = useState(false)
  const [asked, setAsked] = useState(false)
  useStay(box, () => {
    if (copied || asked) return false
    setAsked(true)
    return true
  })
  const copy = async () => {
    if (await copyText(secret)) setCopied(true)
    // The user copies what is selected.
    else if (text.current) getSelection()?.selectAllChildren(text.current)
  }
  const leave = () => (copied || asked ? close() : setAsked(true))
  return (
    <div class="action" ref={box}>
      <h2 id="dialog-title">{t(title)}</h2>
      <Sentence text={about} name={name} />
      <p class="secret">
        <code class="foreign" ref={text}>
          {secret}
        </code>
        <button class="primary" onClick={copy}>
          {t('word.copy')}
        </button>
      </p>
      <p class={asked && !copied ? 'warning' : 'note'} role="status">
        {t(copied ? 'secret.copied' : asked ? 'secret.again' : once)}
      </p>
      {sample && (
        <>
          <p class="note">{t('secret.sample')}</p>
          <pre class="foreign" tabindex={0} role="region" aria-label={t('secret.sample')}>
            {sample}
          </pre>
        </>
      )}
      <p class="line buttons">
        <button onClick={leave}>{t(asked && !copied ? 'secret.forget' : 'word.close')}</button>
      </p>
    </div>
  )
}

import type { Signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { foreign } from '../lib/foreign.tsx'
import { ApiError } from '../lib/request.ts'
import { sessionsEnded } from '../lib/session.ts'
import { type TextKey, t } from '../lib/texts.ts'
import { forgetPages } from '../lib/use-pages.ts'
import { useStay } from './action-form.tsx'
import { type Closing, showDialog } from './dialog.tsx'
import { problemText } from './problem.tsx'

interface SeveralProperties<Item> {
  /** Has forms for how many there are. */
  readonly title: TextKey
  readonly verb: TextKey
  readonly items: readonly Item[]
  readonly nameOf: (item: Item) => string
  readonly run: (item: Item) => Promise<unknown>
  readonly done?: () => void
  /** What will happen. */
  readonly children: ComponentChildren
}

/** What became of an item: done, or why not. */
type Outcome = 'done' | ApiError

/** Opens a form in a dialog, for one action on several things. */
export const showSeveral = <Item,>(properties: SeveralProperties<Item>): void =>
  showDialog(SeveralForm<Item>, properties)

/** Does one after the other and says of each what became of it; what failed can be tried again. It closes by itself if all is done. */
function SeveralForm<Item>(properties: SeveralProperties<Item> & Closing) {
  const { title, verb, items, nameOf, run, done, children, close } = properties
  const form = useRef<HTMLFormElement>(null)
  const [busy, setBusy] = useState(false)
  const [outcomes, setOutcomes] = useState<ReadonlyMap<Item, Outcome>>(new Map())
  const running = useRef(false)
  useStay(form, () => running.current)

  const submit = async (event: Event) => {
    event.preventDefault()
    if (running.current) return
    running.current = true
    setBusy(true)
    const found = new Map(outcomes)
    const ended = sessionsEnded()
    for (const item of items) {
      if (found.get(item) === 'done') continue
      // Once the session has ended, somebody must ask for the others again, also whoever has signed in meanwhile.
      const isEnded = ended !== sessionsEnded()
      // `run` rejects with nothing else.
      const outcome = isEnded
        ? new ApiError(401, { errorCode: 'TOKEN_EXPIRED' })
        : await run(item).then(
            () => 'done' as const,
            (error: ApiError) => error,
          )
      found.set(item, outcome)
      setOutcomes(new Map(found))
      if (outcome !== 'done' && outcome.status === 401) break
    }
    running.current = false
    setBusy(false)
    forgetPages()
    done?.()
    if (items.every((item) => found.get(item) === 'done')) close()
  }

  const isDone = (item: Item) => outcomes.get(item) === 'done'
  const failed = items.filter((item) => outcomes.has(item) && !isDone(item)).length
  return (
    <form class="action" ref={form} onSubmit={submit} aria-busy={busy}>
      <h2 id="dialog-title">{t(title, { count: items.length })}</h2>
      {children}
      <ul class="several">
        {items.map((item) => (
          <li key={nameOf(item)}>
            {foreign(nameOf(item))} <Told outcome={outcomes.get(item)} />
          </li>
        ))}
      </ul>
      <p role="status" class={failed > 0 ? 'warning' : 'note'}>
        {outcomes.size > 0 && t('several.state', { done: items.filter(isDone).length, all: items.length, failed })}
      </p>
      <p class="line buttons">
        <button type="submit" class="danger" aria-disabled={busy}>
          {t(busy ? 'action.busy' : failed > 0 ? 'error.again' : verb)}
        </button>
        <button type="button" disabled={busy} autofocus onClick={close}>
          {t(failed > 0 ? 'word.close' : 'action.cancel')}
        </button>
      </p>
    </form>
  )
}

function Told({ outcome }: { readonly outcome: Outcome | undefined }) {
  if (outcome === undefined) return null
  return outcome === 'done' ? (
    <span class="badge good">{t('several.done')}</span>
  ) : (
    <span class="failed">{problemText(outcome)}</span>
  )
}

/** As many as one action takes. */
const MAX_CHOSEN = 100

interface PickProperties<Item> {
  readonly item: Item
  readonly chosen: Signal<readonly Item[]>
  readonly name: string
  readonly tabIndex?: number
}

/** A check box that chooses a row for an action on several. */
export function Pick<Item>({ item, chosen, name, tabIndex }: PickProperties<Item>) {
  const isChosen = chosen.value.includes(item)
  return (
    <label class="pick" onClick={(event) => event.stopPropagation()}>
      <input
        type="checkbox"
        checked={isChosen}
        disabled={!isChosen && chosen.value.length >= MAX_CHOSEN}
        tabIndex={tabIndex}
        onChange={() => {
          chosen.value = isChosen ? chosen.value.filter((each) => each !== item) : [...chosen.value, item]
        }}
      />
      <span class="visually-hidden">{t('several.choose', { name })}</span>
    </label>
  )
}

interface ChosenProperties {
  readonly chosen: Signal<readonly unknown[]>
  readonly children: ComponentChildren
}

/** What can be done with all that is chosen; nothing while nothing is. */
export function Chosen({ chosen, children }: ChosenProperties) {
  const { length } = chosen.value
  return (
    <div class={length > 0 ? 'line chosen' : 'visually-hidden'}>
      <span role="status">{length > 0 && t('several.chosen', { count: length })}</span>
      {length > 0 && (
        <>
          {children}
          <button
            class="quiet"
            onClick={() => {
              chosen.value = []
            }}
          >
            {t('several.clear')}
          </button>
        </>
      )}
    </div>
  )
}

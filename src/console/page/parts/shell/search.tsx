import { computed, effect, signal } from '@preact/signals'
import type { Static } from '@sinclair/typebox'
import type { TargetedFocusEvent, TargetedKeyboardEvent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { MatchesSchema } from '#src/console/find.schema.ts'
import { looksSecret } from '#src/lib/looks-secret.ts'
import { post } from '../../lib/api.ts'
import { foreign, visible } from '../../lib/foreign.tsx'
import { href } from '../../lib/route.ts'
import { isStarting, me } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'

const PAUSE_MILLISECONDS = 200
/** The types of Preact want it beside the role of a combobox. */
const NO_LIST = { list: undefined } as const

type Found = Static<typeof MatchesSchema>
type Match = Found['Matches'][number]
/** What was found, or a text that was searched for before. */
type Option = Match | { readonly recent: string }

/** The view that shows what was found. */
const ADDRESSES: Readonly<Record<Match['Kind'], (match: Match) => string>> = {
  delivery: ({ ID }) => href('delivery', [ID]),
  order: ({ CustomerID, ID }) => href('order', [CustomerID, ID]),
  customer: ({ ID }) => href('customer', [ID]),
  key: ({ CustomerID, ID }) => href('customer', [CustomerID], { key: ID }),
  request: ({ ID }) => href('audit', [], { requestId: ID }),
  refusal: ({ ID }) => href('refusals', [ID]),
}

interface Answer {
  readonly text: string
  readonly matches?: readonly Match[]
  readonly isRefused?: boolean
}

/** Asks the server a moment after the last change. A newer text aborts the question before it. What looks like a secret is never sent. */
function useFound(text: string): Answer {
  const [found, setFound] = useState<Answer>({ text: '' })
  useEffect(() => {
    if (text === '' || looksSecret(text)) {
      setFound({ text })
      return undefined
    }
    const leaving = new AbortController()
    const timer = setTimeout(async () => {
      try {
        const { Matches } = await post<Found>('/Operator/find', { Text: text }, leaving.signal)
        // A newer server may find more kinds.
        setFound({ text, matches: Matches.filter(({ Kind }) => Kind in ADDRESSES) })
      } catch {
        if (!leaving.signal.aborted) setFound({ text, isRefused: true })
      }
    }, PAUSE_MILLISECONDS)
    return () => {
      clearTimeout(timer)
      leaving.abort()
    }
  }, [text])
  return found
}

/** Finds a receipt, an order, a customer, a key, a request or a refusal: a combobox with a listbox. */
export function SearchBox() {
  const [typed, setTyped] = useState('')
  const [open, setOpen] = useState(false)
  const [chosen, setChosen] = useState(-1)
  const entered = useRef(false)
  const text = typed.trim()
  const found = useFound(text)
  const arrived = found.text === text
  const options: readonly Option[] =
    text === '' ? recent.value.map((each) => ({ recent: each })) : arrived ? (found.matches ?? []) : []

  const take = (option: Option): void => {
    entered.current = false
    if ('recent' in option) {
      setTyped(option.recent)
      setChosen(-1)
      return
    }
    remember(text)
    setOpen(false)
    setTyped('')
    location.hash = ADDRESSES[option.Kind](option)
  }

  // Somebody who pressed Enter before the answer came wants the first match.
  useEffect(() => {
    if (!entered.current || !arrived) return
    entered.current = false
    const [first] = options
    if (first !== undefined) take(first)
  }, [found])

  const onKeyDown = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    const { key } = event
    if (key === 'Escape') {
      event.preventDefault()
      if (open) setOpen(false)
      else setTyped('')
      setChosen(-1)
    } else if (key === 'Enter') {
      event.preventDefault()
      const option = options[open && chosen >= 0 ? chosen : 0]
      if (text === '' && chosen < 0) return
      if (option !== undefined) take(option)
      else entered.current = text !== '' && !arrived
    } else if ((key === 'ArrowDown' || key === 'ArrowUp') && options.length > 0) {
      event.preventDefault()
      setOpen(true)
      const step = key === 'ArrowDown' ? 1 : -1
      setChosen(chosen < 0 && step < 0 ? options.length - 1 : (chosen + step + options.length) % options.length)
    }
  }

  const forget = () => {
    forgetRecent()
    document.getElementById('search')?.focus()
  }
  const leave = ({ currentTarget, relatedTarget }: TargetedFocusEvent<HTMLFormElement>) => {
    if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) setOpen(false)
  }
  const isOpen = open && (text !== '' || options.length > 0)
  return (
    <form class="search" role="search" onSubmit={(event) => event.preventDefault()} onFocusOut={leave}>
      <input
        id="search"
        type="search"
        role="combobox"
        {...NO_LIST}
        aria-label={t('word.search')}
        aria-expanded={isOpen && options.length > 0}
        aria-controls="search-list"
        aria-autocomplete="list"
        aria-activedescendant={isOpen && chosen >= 0 ? `found-${chosen}` : undefined}
        placeholder={t('search.hint')}
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value)
          setOpen(true)
          setChosen(-1)
          entered.current = false
        }}
        onFocus={() => setOpen(true)}
        onKeyDown={onKeyDown}
      />
      <div class="found" hidden={!isOpen} onMouseDown={(event) => event.preventDefault()}>
        {text === '' && (
          <p class="note">
            {t('search.recent')}{' '}
            <button type="button" class="small" onClick={forget}>
              {t('search.forget')}
            </button>
          </p>
        )}
        <ul id="search-list" role="listbox" aria-label={t('search.results')}>
          {options.map((option, index) => (
            <OptionRow key={index} index={index} option={option} chosen={index === chosen} take={take} />
          ))}
        </ul>
        <p class="note" role="status">
          {isOpen && text !== '' && stateOf(text, found)}
        </p>
      </div>
    </form>
  )
}

function stateOf(text: string, { text: answered, matches = [], isRefused }: Answer): string {
  if (looksSecret(text)) return t('search.secret')
  if (answered !== text) return t('search.searching')
  if (isRefused) return t('search.failed')
  return matches.length > 0 ? t('search.found', { count: matches.length }) : t('search.nothing')
}

interface OptionProperties {
  readonly option: Option
  readonly index: number
  readonly chosen: boolean
  readonly take: (option: Option) => void
}

function OptionRow({ option, index, chosen, take }: OptionProperties) {
  const inner =
    'recent' in option ? (
      foreign(option.recent)
    ) : (
      <>
        <span class="note">{t(`word.${option.Kind}`)}</span>
        <span>
          {foreign(option.Text || option.ID)}{' '}
          {option.RefusedOnly && <small class="failed">{t('search.refusedOnly')}</small>}{' '}
          {option.Customer && option.Kind !== 'customer' && <small class="foreign">{visible(option.Customer)}</small>}
        </span>
      </>
    )
  return (
    <li id={`found-${index}`} role="option" aria-selected={chosen} onClick={() => take(option)}>
      {inner}
    </li>
  )
}

const KEY = 'teslim.console.recent'
const MOST = 8

interface Kept {
  readonly customer?: string | undefined
  readonly texts: readonly string[]
}

function stored(): Kept {
  try {
    const { customer, texts } = JSON.parse(sessionStorage.getItem(KEY) ?? '')
    return { customer: String(customer), texts: texts.map(String) }
  } catch {
    return { texts: [] }
  }
}

const kept = signal(stored())
/** Texts that led to something, the newest first. They stay in this tab, and end with the session. */
const recent = computed(() => kept.value.texts)

function keep(texts: readonly string[]): void {
  kept.value = { customer: me.peek()?.CustomerID, texts }
  try {
    sessionStorage.setItem(KEY, JSON.stringify(kept.value))
  } catch {
    // A browser may refuse to store anything.
  }
}

const remember = (text: string): void => keep([text, ...recent.value.filter((each) => each !== text)].slice(0, MOST))
const forgetRecent = (): void => keep([])

effect(() => {
  if (!isStarting.value && me.value?.CustomerID !== kept.peek().customer) keep([])
})

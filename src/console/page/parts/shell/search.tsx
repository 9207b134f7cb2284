import { effect, signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { post } from '../../lib/api.ts'
import { nameOf } from '../../lib/customers.tsx'
import { foreign, visible } from '../../lib/foreign.tsx'
import { href } from '../../lib/route.ts'
import { isNobody } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'

const PAUSE_MILLISECONDS = 200

/** The view that shows what was found. */
const ADDRESSES = {
  delivery: ({ ID }) => href('delivery', [ID]),
  order: ({ CustomerID, ID }) => href('order', [CustomerID, ID]),
  customer: ({ ID }) => href('customer', [ID]),
  key: ({ CustomerID, ID }) => href('customer', [CustomerID], { key: ID }),
  request: ({ ID }) => href('audit', [], { requestId: ID }),
  refusal: ({ ID }) => href('refusals', [ID]),
}

/** Asks the server a moment after the last change. A newer text aborts the question before it. */
function useFound(text) {
  const [found, setFound] = useState({ text: '' })
  useEffect(() => {
    if (text === '') return setFound({ text })
    const leaving = new AbortController()
    const timer = setTimeout(async () => {
      try {
        const { Matches } = await post('/Operator/find', { Text: text }, { signal: leaving.signal })
        setFound({ text, matches: Matches.filter(({ Kind }) => Kind in ADDRESSES) })
      } catch (error) {
        if (!leaving.signal.aborted) setFound({ text, error })
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
  const options = text === '' ? recent.value.map((each) => ({ recent: each })) : arrived ? (found.matches ?? []) : []

  const take = (option) => {
    entered.current = false
    if (option.recent !== undefined) {
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
    if (options.length > 0) take(options[0])
  }, [found])

  const onKeyDown = (event) => {
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
    document.getElementById('search').focus()
  }
  const leave = ({ currentTarget, relatedTarget }) => currentTarget.contains(relatedTarget) || setOpen(false)
  const isOpen = open && (text !== '' || options.length > 0)
  return (
    <form class="search" role="search" onSubmit={(event) => event.preventDefault()} onFocusOut={leave}>
      <input
        id="search"
        type="search"
        role="combobox"
        aria-label={t('word.search')}
        aria-expanded={String(isOpen && options.length > 0)}
        aria-controls="search-list"
        aria-autocomplete="list"
        aria-activedescendant={isOpen && chosen >= 0 ? `found-${chosen}` : undefined}
        placeholder={t('search.hint')}
        autocomplete="off"
        spellcheck="false"
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
            <Option key={index} index={index} option={option} chosen={index === chosen} take={take} />
          ))}
        </ul>
        <p class="note" role="status">
          {isOpen && text !== '' && stateOf(found, arrived)}
        </p>
      </div>
    </form>
  )
}

function stateOf({ matches, error }, arrived) {
  if (!arrived) return t('search.searching')
  if (error) return t('search.failed')
  return matches?.length > 0 ? t('search.found', { count: matches.length }) : t('search.nothing')
}

function Option({ option, index, chosen, take }) {
  const { Kind, ID, Text, CustomerID, RefusedOnly } = option
  const inner =
    Kind === undefined ? (
      foreign(option.recent)
    ) : (
      <>
        <span class="note">{t(`word.${Kind}`)}</span>
        <span>
          {foreign(Text || ID)}
          {RefusedOnly && (
            <>
              {' '}
              <small class="failed">{t('search.refusedOnly')}</small>
            </>
          )}
          {CustomerID && Kind !== 'customer' && (
            <>
              {' '}
              <small class="foreign">{visible(nameOf(CustomerID) ?? '')}</small>
            </>
          )}
        </span>
      </>
    )
  return (
    <li id={`found-${index}`} role="option" aria-selected={String(chosen)} onClick={() => take(option)}>
      {inner}
    </li>
  )
}

const KEY = 'teslim.console.recent'
const MOST = 8

function stored() {
  try {
    const texts = JSON.parse(sessionStorage.getItem(KEY))
    return Array.isArray(texts) ? texts.map(String) : []
  } catch {
    return []
  }
}

/** Texts that led to something, the newest first. They stay in this tab until the session ends. */
export const recent = signal(stored())

function keep(texts) {
  recent.value = texts
  try {
    sessionStorage.setItem(KEY, JSON.stringify(texts))
  } catch {
    // A browser may refuse to store anything.
  }
}

export const remember = (text) => keep([text, ...recent.value.filter((each) => each !== text)].slice(0, MOST))
export const forgetRecent = () => keep([])

effect(() => {
  if (isNobody.value) keep([])
})

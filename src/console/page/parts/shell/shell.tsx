import type { Static } from '@sinclair/typebox'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { EndpointsSchema } from '#src/webhook/endpoints/routes/endpoints.schema.ts'
import { get } from '../../lib/api.ts'
import { zoneName } from '../../lib/format.ts'
import { state, wanted } from '../../lib/live.ts'
import { entry, href, round, route, type ViewProps } from '../../lib/route.ts'
import { named, t } from '../../lib/texts.ts'
import { menuViews, type View, viewOf } from '../../views/views.ts'
import { Dialogs } from '../dialog.tsx'
import { Icon, isIcon, Mark } from '../icon.tsx'
import { Missing } from '../problem.tsx'
import { Keys } from './keys.tsx'
import { Menu } from './menu.tsx'
import { SearchBox } from './search.tsx'

export function Shell() {
  const { name, parts, parameters } = route.value
  const view = viewOf(name)
  return (
    <>
      <a class="skip" href="#content" onClick={focusContent}>
        {t('shell.skip')}
      </a>
      <header class="top">
        <a class="brand" href={href('now')}>
          <Mark /> {t('product')}
        </a>
        <SearchBox />
        <LiveSwitch />
        <span class="zone" title={t('shell.zone', { zone: zoneName() })}>
          {zoneName()}
        </span>
        <Menu />
      </header>
      <Views current={view?.under ?? name} />
      <Content
        key={`${name}/${parts.join('/')} ${round.value}`}
        name={name}
        view={view}
        parts={parts}
        parameters={parameters}
      />
      <Dialogs />
      <Keys />
    </>
  )
}

/** Says what really happens: live, paused, connecting or lost. */
const LiveSwitch = () => (
  <button
    class={`live ${state.value}`}
    aria-pressed={wanted.value}
    onClick={() => {
      wanted.value = !wanted.value
    }}
  >
    {t(`word.${state.value}`)}
  </button>
)

/** The views that the menu has. On a phone it scrolls sideways, to the one that is shown. */
function Views({ current }: { readonly current: string }) {
  const menu = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    const shown = menu.current?.querySelector<HTMLElement>('[aria-current]')
    if (shown) menu.current?.scrollTo({ left: shown.offsetLeft - (innerWidth - shown.offsetWidth) / 2 })
  }, [current])
  return (
    <nav class="views" aria-label={t('shell.views')} ref={menu}>
      {menuViews().map(([name]) => (
        <a key={name} href={href(name)} aria-current={name === current ? 'page' : undefined}>
          {isIcon(name) && <Icon name={name} />}
          <span>{named('word', name)}</span>
          {name === 'webhooks' && <FailingEndpoints />}
        </a>
      ))}
    </nav>
  )
}

const MINUTE_MILLISECONDS = 60_000

function FailingEndpoints() {
  const [count, setCount] = useState(0)
  useEffect(() => {
    const leaving = new AbortController()
    const read = async () => {
      if (document.hidden) return
      const { Endpoints } = await get<Static<typeof EndpointsSchema>>('/Webhook/endpoints', {}, leaving.signal)
      setCount(Endpoints.filter(({ State }) => State === 'failing').length)
    }
    const readQuietly = () => void read().catch(() => undefined)
    readQuietly()
    const timer = setInterval(readQuietly, MINUTE_MILLISECONDS)
    return () => {
      clearInterval(timer)
      leaving.abort()
    }
  }, [])
  return (
    count > 0 && (
      <span class="badge failed" title={t('menu.failing', { count })}>
        {count}
      </span>
    )
  )
}

function focusContent(event: Event) {
  event.preventDefault()
  document.getElementById('content')?.focus()
}

let shown: string | undefined
/** How far the page was scrolled, by entry of the browser's history. */
const scrolled = new Map<unknown, number>()
addEventListener('scroll', () => scrolled.set(entry(), scrollY), { passive: true })

interface ContentProperties extends ViewProps {
  readonly name: string
  readonly view: View | undefined
}

function Content({ name, view, parts, parameters }: ContentProperties) {
  const main = useRef<HTMLElement>(null)
  const title = `${view ? named('word', name) : t('word.missing')} · ${t('product')}`
  useEffect(() => {
    document.title = title
  }, [title])
  useLayoutEffect(() => scrollTo(0, scrolled.get(entry()) ?? 0), [])
  useEffect(() => {
    // Moves to the new view as a browser does after following a link, but not on the first one.
    const place = `${name}/${parts.join('/')}`
    if (shown !== undefined && shown !== place) main.current?.focus({ preventScroll: true })
    shown = place
  }, [])
  return (
    <main id="content" tabIndex={-1} ref={main}>
      {view ? <view.View parts={parts} parameters={parameters} /> : <Missing />}
    </main>
  )
}

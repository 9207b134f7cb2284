import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { zoneName } from '../../lib/format.ts'
import { entry, href, round, route } from '../../lib/route.ts'
import { mayRead } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'
import { VIEWS } from '../../views/views.ts'
import { Dialogs } from '../dialog.tsx'
import { Missing } from '../problem.tsx'
import { Keys } from './keys.tsx'
import { LiveSwitch } from './live-switch.tsx'
import { Menu } from './menu.tsx'
import { SearchBox } from './search.tsx'

/** The frame around every view. */
export function Shell() {
  const { name, parts, parameters } = route.value
  const view = Object.hasOwn(VIEWS, name) ? VIEWS[name] : undefined
  return (
    <>
      <a class="skip" href="#content" onClick={focusContent}>
        {t('shell.skip')}
      </a>
      <header class="top">
        <a class="brand" href={href('now')}>
          {t('product')}
        </a>
        <SearchBox />
        <LiveSwitch />
        <span class="zone" title={t('shell.zone', { zone: zoneName() })}>
          {zoneName()}
        </span>
        <Menu />
      </header>
      <nav class="views" aria-label={t('shell.views')}>
        {Object.entries(VIEWS)
          .filter(([, { inMenu, reads }]) => inMenu && (!reads || mayRead.value))
          .map(([key]) => {
            const current = key === (view?.under ?? name)
            return (
              <a href={href(key)} aria-current={current ? 'page' : undefined}>
                {t(`word.${key}`)}
              </a>
            )
          })}
      </nav>
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

function focusContent(event) {
  event.preventDefault()
  document.getElementById('content').focus()
}

let shown
/** How far the page was scrolled, by entry of the browser's history. */
const scrolled = new Map()
addEventListener('scroll', () => scrolled.set(entry(), scrollY), { passive: true })

function Content({ name, view, parts, parameters }) {
  const main = useRef()
  const title = `${t(`word.${view ? name : 'missing'}`)} · ${t('product')}`
  useEffect(() => {
    document.title = title
  }, [title])
  useLayoutEffect(() => scrollTo(0, scrolled.get(entry()) ?? 0), [])
  useEffect(() => {
    // Moves to the new view as a browser does after following a link, but not on the first one.
    const place = `${name}/${parts.join('/')}`
    if (shown !== undefined && shown !== place) main.current.focus({ preventScroll: true })
    shown = place
  }, [])
  return (
    <main id="content" tabindex="-1" ref={main}>
      {view ? <view.View parts={parts} parameters={parameters} /> : <Missing />}
    </main>
  )
}

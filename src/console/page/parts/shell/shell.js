import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { zoneName } from '../../lib/format.js'
import { html } from '../../lib/html.js'
import { entry, href, round, route } from '../../lib/route.js'
import { me } from '../../lib/session.js'
import { t } from '../../lib/texts.js'
import { VIEWS } from '../../views/views.js'
import { Dialogs } from '../dialog.js'
import { Problem } from '../problem.js'
import { Keys } from './keys.js'
import { LiveSwitch } from './live-switch.js'
import { Menu } from './menu.js'
import { SearchBox } from './search.js'
import { SignIn } from './sign-in.js'

/** The frame around every view. */
export function Shell() {
  if (me.value === undefined) return html`<${SignIn} />`
  const { name, parts, parameters } = route.value
  const view = Object.hasOwn(VIEWS, name) ? VIEWS[name] : undefined
  return html`
    <a class="skip" href="#content" onClick=${focusContent}>${t('shell.skip')}</a>
    <header class="top">
      <a class="brand" href=${href('now')}>${t('product')}</a>
      <${SearchBox} />
      <${LiveSwitch} />
      <span class="zone" title=${t('shell.zone', { zone: zoneName() })}>${zoneName()}</span>
      <${Menu} />
    </header>
    <nav class="views" aria-label=${t('shell.views')}>
      ${Object.entries(VIEWS)
        .filter(([, { inMenu }]) => inMenu)
        .map(([key]) => {
          const current = key === (view?.under ?? name)
          return html`<a href=${href(key)} aria-current=${current ? 'page' : undefined}>${t(`view.${key}`)}</a>`
        })}
    </nav>
    <${Content} key=${`${name}/${parts.join('/')} ${round.value}`} name=${name} view=${view} parts=${parts} parameters=${parameters} />
    <${Dialogs} />
    <${Keys} />
  `
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
  const title = `${t(`view.${view ? name : 'missing'}`)} · ${t('product')}`
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
  return html`
    <main id="content" tabindex="-1" ref=${main}>
      ${view ? html`<${View} name=${name} load=${view.load} parts=${parts} parameters=${parameters} />` : html`<h1>${t('view.missing')}</h1>`}
    </main>
  `
}

/** The views that were opened so far. */
const opened = {}

/** Shows a view as soon as its script is there. A browser tries a script that failed only once, so trying again reloads the page. */
function View({ name, load, parts, parameters }) {
  const [error, setError] = useState()
  const [component, setComponent] = useState(() => opened[name])
  useEffect(() => {
    if (component !== undefined) return
    load().then(
      (loaded) => {
        opened[name] = loaded
        setComponent(() => loaded)
      },
      () => setError({ code: 'NETWORK' }),
    )
  }, [])
  if (error) return html`<h1>${t(`view.${name}`)}</h1><${Problem} error=${error} again=${() => location.reload()} />`
  if (component === undefined) return html`<h1 class="skeleton" aria-busy="true">${t(`view.${name}`)}</h1>`
  return html`<${component} parts=${parts} parameters=${parameters} />`
}

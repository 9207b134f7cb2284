// A script that does not come would leave the page empty: during an upgrade it may be one that only the other version has. The page is
// loaded once more by itself, and then says so.

const WORDS = {
  en: { sentence: 'The page could not be loaded.', again: 'Try again' },
  tr: { sentence: 'Sayfa yüklenemedi.', again: 'Yeniden dene' },
}

const place = document.querySelector('#app, #content') as HTMLElement

function failed({ target }: Event) {
  // A picture, or what is loaded ahead, may be missing. An error of a script is one of the window.
  if (target instanceof Element && !target.matches('script, [rel=stylesheet]')) return
  if (place.querySelector(':scope > :not(noscript)')) return
  const [navigation] = performance.getEntriesByType('navigation')
  if (navigation instanceof PerformanceNavigationTiming && navigation.type === 'reload') tell()
  else location.reload()
}

/** Without the texts and parts of the page, which may be what did not come. */
function tell() {
  const lang = navigator.language.startsWith('tr') ? 'tr' : 'en'
  const { sentence, again } = WORDS[lang]
  const told = document.createElement(place.matches('main') ? 'div' : 'main')
  Object.assign(told, { className: 'sign-in', lang }).append(
    Object.assign(document.createElement('p'), { role: 'alert', textContent: sentence }),
    Object.assign(document.createElement('button'), {
      className: 'primary',
      textContent: again,
      onclick: () => location.reload(),
    }),
  )
  place.append(told)
}

// The error of an element does not bubble.
addEventListener('error', failed, { capture: true })
addEventListener('unhandledrejection', failed)

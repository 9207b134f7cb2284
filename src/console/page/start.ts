// A script that does not come would leave the page empty. The page is loaded once more by itself, and then says so.

const WORDS = {
  en: { sentence: 'The console could not be loaded.', again: 'Try again' },
  tr: { sentence: 'Konsol yüklenemedi.', again: 'Yeniden dene' },
}

const app = document.getElementById('app') as HTMLElement

function failed() {
  if (app.hasChildNodes()) return
  const [navigation] = performance.getEntriesByType('navigation')
  if (navigation instanceof PerformanceNavigationTiming && navigation.type === 'reload') tell()
  else location.reload()
}

/** Without the texts and parts of the console, which may be what did not come. */
function tell() {
  const lang = navigator.language.startsWith('tr') ? 'tr' : 'en'
  const { sentence, again } = WORDS[lang]
  const main = Object.assign(document.createElement('main'), { className: 'sign-in', lang })
  main.append(
    Object.assign(document.createElement('p'), { role: 'alert', textContent: sentence }),
    Object.assign(document.createElement('button'), {
      className: 'primary',
      textContent: again,
      onclick: () => location.reload(),
    }),
  )
  app.append(main)
}

// The error of an element does not bubble.
addEventListener('error', failed, { capture: true })
addEventListener('unhandledrejection', failed)

// A script that does not come would leave the page empty. The page is loaded once more by itself, and then says so.

const WORDS = {
  en: { sentence: 'The console could not be loaded.', again: 'Try again' },
  tr: { sentence: 'Konsol yüklenemedi.', again: 'Yeniden dene' },
}

const app = document.getElementById('app')

function failed() {
  if (app.hasChildNodes()) return
  const [{ type }] = performance.getEntriesByType('navigation')
  if (type === 'reload') tell()
  else location.reload()
}

/** Without the texts and parts of the console, which may be what did not come. */
function tell() {
  const lang = navigator.language.startsWith('tr') ? 'tr' : 'en'
  const { sentence, again } = WORDS[lang]
  const element = (name, properties) => Object.assign(document.createElement(name), properties)
  const main = element('main', { className: 'sign-in', lang })
  main.append(
    element('p', { role: 'alert', textContent: sentence }),
    element('button', { className: 'primary', textContent: again, onclick: () => location.reload() }),
  )
  app.append(main)
}

// The error of an element does not bubble.
addEventListener('error', failed, { capture: true })
addEventListener('unhandledrejection', failed)

import { computed, signal } from '@preact/signals'

/** The address stands after the #, so that order ids and e-mail addresses reach no log of a server or proxy. */
const hash = signal(location.hash)
let entries = 0

/** Gives the entry of the browser's history a name of its own, which stays when somebody comes back to it. */
function nameEntry() {
  if (history.state === null) history.replaceState(`${performance.timeOrigin} ${entries++}`, '')
}

export const entry = () => history.state

history.scrollRestoration = 'manual'
nameEntry()
addEventListener('hashchange', () => {
  nameEntry()
  hash.value = location.hash
})

function decoded(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The view's name, the parts that follow it, and its parameters: `#/order/C1/A%2F7?diff=2`. */
export const route = computed(() => {
  const [path = '', query = ''] = hash.value.replace(/^#\/?/, '').split(/\?(.*)/s)
  const [name, ...parts] = path.split('/').map(decoded)
  return { name: name || 'now', parts, parameters: Object.fromEntries(new URLSearchParams(query)) }
})

/** Returns the address of a view. Parameters that are undefined or empty are left out. */
export function href(name, parts = [], parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const query = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString()
  // A lone surrogate cannot be encoded.
  const path = [name, ...parts].map((part) => encodeURIComponent(String(part).toWellFormed())).join('/')
  return `#/${path}${query && `?${query}`}`
}

/** Changes when the view has to read again everything that it shows. */
export const round = signal(0)

export const reloadView = () => {
  round.value += 1
}

export function go(name, parts, parameters) {
  location.hash = href(name, parts, parameters)
}

/** Changes parameters of the view that is shown, as a new entry of the browser's history unless `replace` is set. */
export function setParameters(changes, { replace = false } = {}) {
  const { name, parts, parameters } = route.value
  const address = href(name, parts, { ...parameters, ...changes })
  if (!replace) location.hash = address
  else {
    history.replaceState(history.state, '', address)
    hash.value = address
  }
}

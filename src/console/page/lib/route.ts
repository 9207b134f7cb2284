import { computed, signal } from '@preact/signals'

/** The address stands after the #, so that order ids and e-mail addresses reach no log of a server or proxy. */
const hash = signal(location.hash)
let entries = 0

/** Gives the entry of the browser's history a name of its own, which stays when somebody comes back to it. */
function nameEntry() {
  if (history.state === null) history.replaceState(`${performance.timeOrigin} ${entries++}`, '')
}

export const entry = (): string => history.state

history.scrollRestoration = 'manual'
nameEntry()
const arrive = () => {
  nameEntry()
  hash.value = location.hash
}
addEventListener('hashchange', arrive)

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** What a view gets from its address. */
export interface ViewProps {
  readonly parts: readonly string[]
  readonly parameters: Readonly<Record<string, string>>
}

/** Those that are undefined, null or empty are left out. */
export type Parameters = Readonly<Record<string, unknown>>

export function withQuery(path: string, parameters: Parameters = {}): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return query ? `${path}?${query}` : path
}

/** The view's name, the parts that follow it, and its parameters: `#/order/C1/A%2F7?diff=2`. */
export const route = computed((): ViewProps & { readonly name: string } => {
  const [path = '', query = ''] = hash.value.replace(/^#\/?/, '').split(/\?(.*)/s)
  const [name, ...parts] = path.split('/').map(decoded)
  return { name: name || 'now', parts, parameters: Object.fromEntries(new URLSearchParams(query)) }
})

/** Names the view that is shown, without its parameters. */
export const viewPath = computed(() => [route.value.name, ...route.value.parts].join('/'))

/** Returns the address of a view. */
export function href(name: string, parts: readonly unknown[] = [], parameters?: Parameters): string {
  // A lone surrogate cannot be encoded.
  const path = [name, ...parts].map((part) => encodeURIComponent(String(part).toWellFormed())).join('/')
  return `#/${withQuery(path, parameters)}`
}

/** The parameters with these names. */
export const only = (names: readonly string[], parameters: ViewProps['parameters']) =>
  Object.fromEntries(names.map((name) => [name, parameters[name]]))

/** Changes when the view has to read again everything that it shows. */
export const round = signal(0)

export const reloadView = (): void => {
  round.value += 1
}

export function go(name: string, parts?: readonly unknown[], parameters?: Parameters): void {
  location.hash = href(name, parts, parameters)
  // Now, not with the event: a dialog that opens next belongs to the new view.
  arrive()
}

/** Changes parameters of the view that is shown, as a new entry of the browser's history unless `replace` is set. */
export function setParameters(changes: Parameters, { replace = false } = {}): void {
  const { name, parts, parameters } = route.value
  const address = href(name, parts, { ...parameters, ...changes })
  if (!replace) location.hash = address
  else {
    history.replaceState(history.state, '', address)
    hash.value = address
  }
}

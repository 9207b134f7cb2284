import { curlBox, exampleRequest } from './form.ts'
import { operationSection } from './operation.ts'
import { load, loadOperators, loadReference, type Operation, type Reference } from './reference.ts'
import { type Child, h, markdown, shown } from './text.ts'

const main = byId('content')
const menu = byId('menu')

function byId(id: string): HTMLElement {
  const element = document.getElementById(id)
  if (element === null) throw new Error(`the page has no #${id}`)
  return element
}

/** A heading and all that follows it up to the next, so that columns keep them together. */
function sections(blocks: readonly HTMLElement[]): HTMLElement[] {
  const found: HTMLElement[] = []
  for (const block of blocks) {
    if (/^H\d$/.test(block.tagName)) found.push(h('section'))
    found.at(-1)?.append(block)
  }
  return found
}

function showStart({ description, operations }: Reference): void {
  const [lead, ...rest] = markdown(description)
  const start = document.querySelector('template')?.content ?? new DocumentFragment()
  start.querySelector('.lead')?.append(...(lead?.childNodes ?? []))
  main.append(start)
  for (const place of main.querySelectorAll<HTMLElement>('[data-curl]')) {
    const operation = operations.find(({ id }) => id === place.dataset.curl)
    if (operation === undefined) continue
    const request = exampleRequest(operation)
    place.replaceWith(
      curlBox(operation, () => request),
      h('p', { class: 'bar' }, 'Answer'),
      h('pre', {}, shown(operation.answers[0]?.example)),
    )
  }
  main.append(h('h2', { id: 'conventions' }, 'Conventions'), h('div', { class: 'columns' }, ...sections(rest)))
}

function showReference({ tags, operations, errors }: Reference): void {
  const byTag = Map.groupBy(operations, ({ tag }) => tag)
  for (const { name, description } of tags) {
    main.append(h('h2', { class: 'group' }, name), ...sectionsOf(byTag.get(name) ?? [], errors))
    if (description !== undefined) main.append(foldedGroup(name, description))
  }
}

/** Routes for operators, which are loaded when somebody opens them. */
function foldedGroup(name: string, description: string): HTMLElement {
  const group = h('details', { class: 'routes', id: name }, h('summary', {}, description))
  group.addEventListener('toggle', () => group.open && showOperators(group))
  return group
}

let operators: Promise<void> | undefined

/** Says in `place` if they cannot be loaded; the next call tries again. */
async function showOperators(place: HTMLElement): Promise<void> {
  place.querySelector('[role=alert]')?.remove()
  operators ??= addOperators()
  try {
    await operators
  } catch (error) {
    operators = undefined
    place.append(failed('What operators call', error))
  }
}

async function addOperators(): Promise<void> {
  const { operations, errors } = await loadOperators()
  for (const [tag, group] of Map.groupBy(operations, (operation) => operation.tag)) {
    byId(tag).append(...sectionsOf(group, errors))
    byId(`contents-${tag}`).replaceChildren(...linksTo(group))
  }
}

function sectionsOf(operations: readonly Operation[], errors: Reference['errors']): HTMLElement[] {
  const all = operations.map((operation) => operationSection(operation, errors))
  for (const section of all) onScreen.observe(section)
  return all
}

const GUIDES = {
  suppliers: 'For suppliers',
  'tr/suppliers': 'Tedarikçiler için',
  'api-customers': 'For API customers',
  errors: 'Errors',
}
const languageOf = (name: string) => name.startsWith('tr/') && 'tr'

/** The guide that the address names, if it names one. */
const guide = Object.keys(GUIDES).find((name) => location.pathname.toLowerCase().startsWith(`/docs/${name}`))

async function showGuide(name: string): Promise<void> {
  const text = await (await load(`/docs/${name}.md`)).text()
  const blocks = markdown(text.replaceAll('http://127.0.0.1:3000', location.origin))
  document.title = `${blocks[0]?.textContent}: teslim`
  main.append(h('article', { lang: languageOf(name) }, ...blocks))
}

const entry = (...link: readonly Child[]) => h('li', {}, ...link)
const linksTo = (operations: readonly Operation[]) =>
  operations.map(({ id, method, summary }) =>
    entry(h('a', { href: `/docs#${id}` }, h('b', { class: method }, method), h('span', {}, summary))),
  )

function contents({ tags, operations }: Reference): HTMLElement[] {
  const group = (title: string, ...entries: readonly HTMLElement[]) => [
    h('h2', {}, title),
    h('ul', { id: `contents-${title}` }, ...entries),
  ]
  const byTag = Map.groupBy(operations, ({ tag }) => tag)
  return [
    group(
      'Start',
      entry(h('a', { href: '/docs#content' }, 'First calls')),
      entry(h('a', { href: '/docs#conventions' }, 'Conventions')),
    ),
    group(
      'Guides',
      ...Object.entries(GUIDES).map(([name, title]) => {
        const current = name === guide && 'page'
        return entry(h('a', { href: `/docs/${name}`, lang: languageOf(name), 'aria-current': current }, title))
      }),
    ),
    ...tags.map(({ name }) =>
      group(
        name,
        ...(byTag.has(name)
          ? linksTo(byTag.get(name) ?? [])
          : [entry(h('a', { href: `/docs#${name}` }, `${name} routes`))]),
      ),
    ),
    group('Files', ...['openapi.yaml', 'openapi.json'].map((name) => entry(h('a', { href: `/${name}` }, name)))),
  ].flat()
}

/** Marks in the contents what is on the screen. */
const onScreen = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      const link = menu.querySelector(`a[href="/docs#${target.id}"]`)
      if (isIntersecting) link?.setAttribute('aria-current', 'true')
      else link?.removeAttribute('aria-current')
    }
  },
  { rootMargin: '-20% 0px -70% 0px' },
)

/** On a wide screen the contents are always open. */
function openMenu(): void {
  const wide = matchMedia('(min-width: 62rem)')
  const set = () => menu.toggleAttribute('open', wide.matches)
  wide.addEventListener('change', set)
  menu.addEventListener('click', (event) => event.target instanceof Element && event.target.closest('a') && set())
  set()
}

/** Shows what the address names, also if it is folded or not loaded yet. */
async function reveal(): Promise<void> {
  const id = decodeURIComponent(location.hash.slice(1))
  if (id === '') return
  if (guide === undefined && document.getElementById(id) === null) await showOperators(main)
  const target = document.getElementById(id)
  const folded = target?.closest('details')
  if (folded) folded.open = true
  target?.scrollIntoView()
}

function failed(what: string, error: unknown): HTMLElement {
  const reason = error instanceof Error ? error.message : ''
  return h('p', { class: 'failed', role: 'alert' }, `${what} could not be loaded: ${reason}. Reload the page.`)
}

try {
  const reference = await loadReference()
  byId('version').textContent = reference.version
  byId('contents').append(...contents(reference))
  openMenu()
  if (guide !== undefined) await showGuide(guide)
  else {
    showStart(reference)
    showReference(reference)
  }
  await reveal()
  addEventListener('hashchange', () => void reveal())
} catch (error) {
  main.append(failed('The reference', error))
}

import { curlBox, exampleRequest } from './form.js'
import { operationSection } from './operation.js'
import { h, markdown, shown } from './text.js'

const main = document.getElementById('content')
const menu = document.getElementById('menu')

async function load(path) {
  const answer = await fetch(path)
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`)
  return answer
}

/** A heading and all that follows it up to the next, so that columns keep them together. */
function sections(blocks) {
  const found = []
  for (const block of blocks) {
    if (/^H\d$/.test(block.tagName)) found.push(h('section'))
    found.at(-1).append(block)
  }
  return found
}

/** Puts in what operations share and only name the place of. */
function withShared({ rows, codeLists, invalidRequests, operations, ...reference }) {
  const rowsAt = (places) => places.map((place) => rows[place])
  for (const operation of operations) {
    operation.parameters = rowsAt(operation.parameters)
    for (const answer of operation.answers) answer.fields = rowsAt(answer.fields)
    operation.refusals = operation.refusals.map(([status, place]) => ({ status, codes: codeLists[place] }))
    operation.invalidRequest = invalidRequests[operation.invalidRequest]
  }
  return { ...reference, operations }
}

function startSection(reference) {
  const start = document.getElementById('start').content.cloneNode(true)
  const [lead, ...rest] = markdown(reference.description)
  start.querySelector('.lead').append(...lead.childNodes)
  main.append(start)
  for (const place of main.querySelectorAll('[data-curl]')) {
    const operation = reference.operations.find(({ id }) => id === place.dataset.curl)
    const request = exampleRequest(operation)
    place.replaceWith(
      curlBox(operation, () => request),
      h('p', { class: 'bar' }, 'Answer'),
      h('pre', {}, shown(operation.answers[0].example)),
    )
  }
  main.append(h('h2', { id: 'conventions' }, 'Conventions'), h('div', { class: 'columns' }, ...sections(rest)))
}

function showReference({ operations, errors }) {
  for (const [tag, group] of Map.groupBy(operations, ({ tag }) => tag)) {
    main.append(h('h2', { class: 'group' }, tag))
    main.append(...group.map((operation) => operationSection(operation, errors)))
  }
}

const GUIDES = { suppliers: 'For suppliers', 'tr/suppliers': 'Tedarikçiler için', 'api-customers': 'For API customers' }
const languageOf = (name) => name.startsWith('tr/') && 'tr'

/** The guide that the address names, if it names one. */
const guide = Object.keys(GUIDES).find((name) => location.pathname.toLowerCase().startsWith(`/docs/${name}`))

async function showGuide() {
  const text = await (await load(`/docs/${guide}.md`)).text()
  const lang = languageOf(guide)
  const article = h('article', { lang }, ...markdown(text.replaceAll('http://127.0.0.1:3000', location.origin)))
  document.title = `${article.querySelector('h1').textContent}: teslim`
  main.append(article)
}

function contents({ operations }) {
  const group = (title, ...links) => [h('h2', {}, title), h('ul', {}, ...links.map((link) => h('li', {}, link)))]
  const byTag = Map.groupBy(operations, ({ tag }) => tag)
  const link = ({ id, method, summary }) =>
    h('a', { href: `/docs#${id}` }, h('b', { class: method }, method), h('span', {}, summary))
  return [
    group(
      'Start',
      h('a', { href: '/docs#content' }, 'First calls'),
      h('a', { href: '/docs#conventions' }, 'Conventions'),
    ),
    group(
      'Guides',
      ...Object.entries(GUIDES).map(([name, title]) =>
        h('a', { href: `/docs/${name}`, lang: languageOf(name), 'aria-current': name === guide && 'page' }, title),
      ),
    ),
    ...Array.from(byTag, ([tag, some]) => group(tag, ...some.map(link))),
    group('Files', ...['openapi.yaml', 'openapi.json'].map((name) => h('a', { href: `/${name}` }, name))),
  ].flat()
}

/** Marks in the contents what is on the screen. */
function follow() {
  const links = new Map([...menu.querySelectorAll('a')].map((link) => [link.hash.slice(1), link]))
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) links.get(target.id)?.setAttribute('aria-current', 'true')
        else links.get(target.id)?.removeAttribute('aria-current')
      }
    },
    { rootMargin: '-20% 0px -70% 0px' },
  )
  for (const section of main.querySelectorAll('section.operation')) seen.observe(section)
}

/** On a wide screen the contents are always open. */
function openMenu() {
  const wide = matchMedia('(min-width: 62rem)')
  const set = () => menu.toggleAttribute('open', wide.matches)
  wide.addEventListener('change', set)
  menu.addEventListener('click', (event) => event.target.closest('a') && set())
  set()
}

try {
  const reference = withShared(await (await load('/docs/reference.json')).json())
  document.getElementById('version').textContent = reference.version
  document.getElementById('contents').append(...contents(reference))
  openMenu()
  if (guide) await showGuide()
  else {
    startSection(reference)
    showReference(reference)
    follow()
  }
  if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView()
} catch (error) {
  main.append(
    h('p', { class: 'failed', role: 'alert' }, `The reference could not be loaded: ${error.message}. Reload the page.`),
  )
}

import { h, indented, shown } from './text.js'

const PLACEHOLDERS = { ApiKey: 'YOUR_API_KEY', bearer: 'YOUR_TOKEN' }
const valueIn = (id) => document.getElementById(id)?.value.trim() ?? ''
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`
const masked = (secret) => `${secret.slice(0, 4)}…`

/** Returns the headers of a request, with the credentials it needs. `show` returns the text for a secret; empty text omits the header. */
function headersOf({ needs }, { headers, body }, show) {
  const credentials = needs
    .map((id) => [id, show(valueIn(id), PLACEHOLDERS[id])])
    .filter(([, secret]) => secret !== '')
    .map(([id, secret]) => (id === 'bearer' ? ['Authorization', `Bearer ${secret}`] : [id, secret]))
  return [...credentials, ...(body === undefined ? [] : [['Content-Type', 'application/json']]), ...headers]
}

/** The password in a JSON body, closed or still being typed. */
const PASSWORD = /("Password"\s*:\s*)"((?:[^"\\]|\\.)*)/gi

function curlOf(operation, request, show) {
  const headers = headersOf(operation, request, show).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`)
  const data = request.body === undefined ? [] : [`--data-raw ${quoted(request.body)}`]
  const url = location.origin + request.target
  return [`curl ${/[^\w:/.-]/.test(url) ? quoted(url) : url}`, ...headers, ...data].join(' \\\n  ')
}

/** A curl command that follows the credentials and `read()`; secrets are masked on the screen and whole in the copy. */
export function curlBox(operation, read) {
  const code = h('pre', { class: 'curl' })
  const copy = h(
    'button',
    { type: 'button', class: 'quiet', 'aria-label': `Copy the curl command: ${operation.summary}` },
    'Copy',
  )
  copy.addEventListener('click', async () => {
    const command = curlOf(operation, read(), (secret, placeholder) => secret || placeholder)
    // Browsers offer a clipboard to https and localhost only.
    const copied = await navigator.clipboard?.writeText(command).then(
      () => true,
      () => false,
    )
    copy.textContent = copied ? 'Copied' : 'Select the text to copy it'
    setTimeout(() => (copy.textContent = 'Copy'), 2000)
  })
  const update = () => {
    const request = read()
    const body = request.body?.replace(PASSWORD, (whole, name, secret) =>
      exampleRequest(operation).body.includes(whole) ? whole : `${name}"${masked(secret)}`,
    )
    const show = (secret, placeholder) => (secret ? masked(secret) : placeholder)
    code.textContent = curlOf(operation, { ...request, body }, show)
  }
  document.addEventListener('input', update)
  update()
  return h('div', { class: 'code' }, h('div', { class: 'bar' }, h('span', {}, 'curl'), copy), code)
}

/** The request of an operation's first example. */
export const exampleRequest = ({ path, body }) => ({
  target: path,
  headers: [],
  body: body && shown(body.examples[0].value),
})

export function tryForm(operation) {
  const { id, method, path, parameters, body, answers } = operation
  const input = ({ name, in: place, required, fallback, example }) =>
    h('input', {
      id: `${id}-${name}`,
      name,
      'data-in': place,
      required,
      value: place === 'path' ? example : undefined,
      placeholder: fallback ?? example,
      autocomplete: 'off',
      spellcheck: 'false',
    })
  const rows = parameters.map((parameter) => [
    h('label', { for: `${id}-${parameter.name}` }, parameter.name),
    input(parameter),
  ])
  const accept = h('select', { id: `${id}-accept` }, ...answers.map(({ type }) => h('option', {}, type)))
  if (answers.length > 1) rows.push([h('label', { for: accept.id }, 'Accept'), accept])

  const editor = h('textarea', { id: `${id}-body`, spellcheck: 'false', rows: '7' })
  const fill = (index) => {
    editor.value = shown(body.examples[index].value)
    editor.dispatchEvent(new Event('input', { bubbles: true }))
  }
  const choice = h(
    'select',
    { 'aria-label': 'Example', change: () => fill(choice.selectedIndex) },
    ...(body?.examples ?? []).map(({ name }) => h('option', {}, name)),
  )
  const send = h('button', { type: 'submit' }, 'Send')
  const status = h('p', { role: 'status' })
  const answer = h('div', { class: 'answer' })
  const form = h(
    'form',
    { 'aria-label': `Try it: ${operation.summary}` },
    rows.length > 0 && h('div', { class: 'inputs' }, ...rows.flat()),
    body && h('div', { class: 'bar' }, h('label', { for: editor.id }, 'Body'), body.examples.length > 1 && choice),
    body && editor,
  )
  if (body) fill(0)

  const read = () => {
    const filled = [...form.querySelectorAll('input')].filter(({ value }) => value !== '')
    const within = (place) => filled.filter((field) => field.dataset.in === place)
    const query = new URLSearchParams(within('query').map(({ name, value }) => [name, value]))
    const target = within('path').reduce(
      (at, { name, value }) => at.replace(`{${name}}`, encodeURIComponent(value)),
      path,
    )
    const headers = within('header').map(({ name, value }) => [name, value])
    if (accept.selectedIndex > 0) headers.push(['Accept', accept.value])
    return { target: query.size > 0 ? `${target}?${query}` : target, headers, body: body && editor.value }
  }
  const missing = h('span', { class: 'note' })
  const remind = () => {
    const lacking = operation.needs.filter((credential) => valueIn(credential) === '')
    missing.replaceChildren(
      ...lacking.map((credential) =>
        credential === 'ApiKey'
          ? h('a', { href: '#ApiKey' }, 'Enter an ApiKey first. ')
          : h('a', { href: '#login' }, 'Log in first, or enter a token.'),
      ),
    )
  }
  document.addEventListener('input', remind)
  form.append(h('div', { class: 'actions' }, send, missing), status, answer, curlBox(operation, read))
  remind()

  let running
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (running) return running.abort()
    running = new AbortController()
    send.textContent = 'Stop'
    const request = read()
    const init = { method, body: request.body, signal: running.signal, credentials: 'omit', cache: 'no-store' }
    try {
      const headers = headersOf(operation, request, (secret) => secret)
      await exchange(request.target, { ...init, headers }, status, answer)
    } catch (error) {
      if (error.name !== 'AbortError')
        status.replaceChildren(h('strong', { class: 'failed' }, `Failed: ${error.message}`))
    }
    running = undefined
    send.textContent = 'Send'
  })
  form.addEventListener('keydown', (event) => {
    if (!running && event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit()
  })
  return form
}

/** Sends a request and shows the answer while it arrives: an event stream has no end. */
async function exchange(target, init, status, shownAnswer) {
  status.replaceChildren()
  shownAnswer.replaceChildren()
  const began = performance.now()
  const answer = await fetch(target, init)
  const took = Math.round(performance.now() - began)
  const headers = Array.from(answer.headers, ([name, value]) => `${name}: ${value}`).join('\n')
  const text = h('pre', { tabindex: '0', role: 'region', 'aria-label': 'Body of the answer' })
  const code = h('strong', { class: answer.ok ? 'ok' : 'failed' }, `${answer.status} ${answer.statusText}`)
  status.replaceChildren(code, ` in ${took} ms`)
  shownAnswer.replaceChildren(text, h('details', {}, h('summary', {}, 'Headers of the answer'), h('pre', {}, headers)))
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  for (let part = await reader.read(); !part.done; part = await reader.read()) text.append(part.value)
  const whole = text.textContent
  text.textContent = indented(whole)
  if (answer.ok && whole.startsWith('{')) remember(JSON.parse(whole).data)
}

/** Fills in what later requests need: the token of a login, the ids of an order and a delivery. */
function remember(data) {
  const fill = (selector, value) => {
    for (const field of document.querySelectorAll(selector)) if (value) field.value = value
  }
  fill('#bearer', data?.Token ?? data?.token)
  fill('input[name=orderId][data-in=path]', data?.OrderID)
  fill('input[name=receiptId][data-in=path]', data?.ReceiptID)
  document.dispatchEvent(new Event('input'))
}

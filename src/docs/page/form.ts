import { copy } from '../../page/copy.ts'
import { curlCommand, quoted } from '../../page/curl.ts'
import type { Operation, Row } from './reference.ts'
import { h, indented, shown } from './text.ts'

type Header = [name: string, value: string]

interface Request {
  readonly target: string
  readonly headers: readonly Header[]
  readonly body?: string | undefined
}

/** Returns the text for a secret; empty text omits its header. */
type Show = (secret: string, placeholder: string) => string

const valueIn = (id: string): string => document.querySelector<HTMLInputElement>(`input#${id}`)?.value.trim() ?? ''
const masked = (secret: string): string => `${secret.slice(0, 4)}…`

/** Returns the headers of a request, with the credentials it needs. */
function headersOf({ needs }: Operation, { headers, body }: Request, show: Show): Header[] {
  const credentials = needs.flatMap((id): Header[] => {
    const isKey = id === 'ApiKey'
    const secret = show(valueIn(id), isKey ? 'YOUR_API_KEY' : 'YOUR_TOKEN')
    return secret === '' ? [] : [isKey ? [id, secret] : ['Authorization', `Bearer ${secret}`]]
  })
  const type: Header[] = body === undefined ? [] : [['Content-Type', 'application/json']]
  return [...credentials, ...type, ...headers]
}

/** The password in a JSON body, closed or still being typed. */
const PASSWORD = /("Password"\s*:\s*)"((?:[^"\\]|\\.)*)/gi

const commandOf = (operation: Operation, request: Request, show: Show): string =>
  curlCommand({
    method: operation.method,
    url: location.origin + request.target,
    headers: headersOf(operation, request, show).map(([name, value]) => quoted(`${name}: ${value}`)),
    body: request.body,
  })

/** A curl command that follows the credentials and `read()`; secrets are masked on the screen and whole in the copy. */
export function curlBox(operation: Operation, read: () => Request) {
  const code = h('pre', { class: 'curl' })
  const button = h(
    'button',
    { type: 'button', class: 'quiet', 'aria-label': `Copy the curl command: ${operation.summary}` },
    'Copy',
  )
  button.addEventListener('click', async () => {
    const command = commandOf(operation, read(), (secret, placeholder) => secret || placeholder)
    button.textContent = (await copy(command)) ? 'Copied' : 'Select the text to copy it'
    setTimeout(() => (button.textContent = 'Copy'), 2000)
  })
  const update = () => {
    const request = read()
    const body = request.body?.replace(PASSWORD, (whole, name: string, secret: string) =>
      exampleRequest(operation).body?.includes(whole) ? whole : `${name}"${masked(secret)}`,
    )
    const show: Show = (secret, placeholder) => (secret ? masked(secret) : placeholder)
    code.textContent = commandOf(operation, { ...request, body }, show)
  }
  document.addEventListener('input', update)
  update()
  return h('div', { class: 'code' }, h('div', { class: 'bar' }, h('span', {}, 'curl'), button), code)
}

/** The request of an operation's first example. */
export const exampleRequest = ({ path, body }: Operation): Request => ({
  target: path,
  headers: [],
  body: body && shown(body.examples[0]?.value),
})

export function tryForm(operation: Operation) {
  const { id, method, path, parameters, body, answers } = operation
  const input = ({ name, in: place, required, fallback, example }: Row) =>
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
  const rows: HTMLElement[] = parameters.flatMap((parameter) => [
    h('label', { for: `${id}-${parameter.name}` }, parameter.name),
    input(parameter),
  ])
  const accept = h('select', { id: `${id}-accept` }, ...answers.map(({ type }) => h('option', {}, type)))
  if (answers.length > 1) rows.push(h('label', { for: accept.id }, 'Accept'), accept)

  const editor = h('textarea', { id: `${id}-body`, spellcheck: 'false', rows: '7' })
  const fill = (index: number): void => {
    editor.value = shown(body?.examples[index]?.value)
    editor.dispatchEvent(new Event('input', { bubbles: true }))
  }
  const choice: HTMLSelectElement = h(
    'select',
    { 'aria-label': 'Example', change: () => fill(choice.selectedIndex) },
    ...(body?.examples ?? []).map(({ name }) => h('option', {}, name)),
  )
  const send = h('button', { type: 'submit', class: 'primary' }, 'Send')
  const status = h('p', { role: 'status' })
  const answer = h('div', { class: 'answer' })
  const form = h(
    'form',
    { 'aria-label': `Try it: ${operation.summary}` },
    rows.length > 0 && h('div', { class: 'inputs' }, ...rows),
    body && h('div', { class: 'bar' }, h('label', { for: editor.id }, 'Body'), body.examples.length > 1 && choice),
    body && editor,
  )
  if (body) fill(0)

  const read = (): Request => {
    const filled = [...form.querySelectorAll('input')].filter(({ value }) => value !== '')
    const within = (place: string) => filled.filter((field) => field.dataset.in === place)
    const query = new URLSearchParams(within('query').map(({ name, value }) => [name, value]))
    const target = within('path').reduce(
      (at, { name, value }) => at.replace(`{${name}}`, encodeURIComponent(value)),
      path,
    )
    const headers = within('header').map(({ name, value }): Header => [name, value])
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
  form.append(h('div', { class: 'actions line' }, send, missing), status, answer, curlBox(operation, read))
  remind()

  let running: AbortController | undefined
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (running) return running.abort()
    running = new AbortController()
    send.textContent = 'Stop'
    const request = read()
    const init = { method, body: request.body ?? null, signal: running.signal }
    try {
      const headers = headersOf(operation, request, (secret) => secret)
      await exchange(request.target, { ...init, headers, credentials: 'omit', cache: 'no-store' }, status, answer)
    } catch (error) {
      if (error instanceof Error && error.name !== 'AbortError')
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
async function exchange(target: string, init: RequestInit, status: HTMLElement, shownAnswer: HTMLElement) {
  status.replaceChildren()
  shownAnswer.replaceChildren()
  const began = performance.now()
  const answer = await fetch(target, init)
  const took = Math.round(performance.now() - began)
  const headers = Array.from(answer.headers, ([name, value]) => `${name}: ${value}`).join('\n')
  const text = h('pre', { tabindex: '0', role: 'region', 'aria-label': 'Body of the answer' })
  const code = h('strong', { class: answer.ok ? 'good' : 'failed' }, `${answer.status} ${answer.statusText}`)
  status.replaceChildren(code, ` in ${took} ms`)
  shownAnswer.replaceChildren(text, h('details', {}, h('summary', {}, 'Headers of the answer'), h('pre', {}, headers)))
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) text.append(part.value)
  const whole = text.textContent
  text.textContent = indented(whole)
  if (answer.ok && whole.startsWith('{')) remember(JSON.parse(whole).data)
}

/** Fills in what later requests need: the token of a login, the ids of an order and a delivery. */
function remember(data: Readonly<Record<string, unknown>> | null): void {
  const fill = (selector: string, value: unknown): void => {
    if (typeof value !== 'string') return
    for (const field of document.querySelectorAll<HTMLInputElement>(selector)) field.value = value
  }
  fill('input#bearer', data?.Token ?? data?.token)
  fill('input[name=orderId][data-in=path]', data?.OrderID)
  fill('input[name=receiptId][data-in=path]', data?.ReceiptID)
  document.dispatchEvent(new Event('input'))
}

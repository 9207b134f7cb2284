export type Child = Node | string | false | undefined
type Properties = Readonly<Record<string, string | boolean | undefined | ((event: Event) => unknown)>>
export type Children = readonly (Child | readonly Child[])[]

/** Makes an element; a function among the properties listens to that event. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Properties = {},
  ...children: Children
) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === 'function') element.addEventListener(name, value)
    else if (value === true) element.setAttribute(name, '')
    else if (value !== undefined && value !== false) element.setAttribute(name, value)
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== false))
  return element
}

/** Lets a long path or code break after a slash or an underscore. */
export const breakable = (text: string): Child[] => text.split(/(?<=[/_])/).flatMap((part) => [h('wbr'), part])

const INLINE = /`([^`]+)`|\*\*(.+?)\*\*|\[([^\]]+)\]\(([^)]+)\)/g
const SERVED = /^(?:\.\.\/)*(?:(openapi\.yaml)|((?:tr\/)?suppliers|api-customers|errors)\.md)/
const addressOf = (target: string): string =>
  target.replace(SERVED, (_, file?: string, guide = '') => `/${file ?? `docs/${guide}`}`)

/** Code, bold text and links; links to pages that are not served here become text. */
export function inline(text: string): Child[] {
  const parts: Child[] = []
  let end = 0
  for (const { 0: all, 1: code, 2: bold, 3: label = '', 4: target = '', index } of text.matchAll(INLINE)) {
    parts.push(text.slice(end, index))
    end = index + all.length
    const href = addressOf(target)
    if (code !== undefined) parts.push(h('code', {}, breakable(code)))
    else if (bold !== undefined) parts.push(h('strong', {}, inline(bold)))
    else parts.push(/^(https?:|#|\/)/.test(href) ? h('a', { href }, inline(label)) : h('span', {}, inline(label)))
  }
  return [...parts, text.slice(end)]
}

const slug = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

const cells = (line: string) =>
  line
    .replace(/^\||\|\s*$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => inline(cell.trim().replaceAll('\\|', '|')))

function table([head = '', , ...rows]: readonly string[]) {
  const row = (line: string, tag: 'th' | 'td') =>
    h('tr', {}, ...cells(line).map((cell) => h(cell.join('') === '' ? 'td' : tag, {}, cell)))
  return h('table', {}, h('thead', {}, row(head, 'th')), h('tbody', {}, ...rows.map((line) => row(line, 'td'))))
}

const HEADINGS = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'] as const

function list(lines: readonly string[], marker: string) {
  const items = lines
    .join('\n')
    .split(new RegExp(`^${marker}`, 'm'))
    .slice(1)
  const tag = marker === '[-*] ' ? 'ul' : 'ol'
  return h(tag, {}, ...items.map((item) => h('li', {}, inline(item.replace(/\s*\n\s*/g, ' ')))))
}

/** Markdown as the contract and the guides use it: headings, paragraphs, lists, tables and code. */
export function markdown(text: string): HTMLElement[] {
  const lines = text.replace(/<!--[\s\S]*?-->/g, '').split('\n')
  const blocks: HTMLElement[] = []
  const until = (end: RegExp, from: number): number => {
    const stop = lines.findIndex((line, index) => index >= from && end.test(line))
    return stop < 0 ? lines.length : stop
  }
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? ''
    let end = until(/^\s*$/, at)
    const heading = /^(#+) (.+)$/.exec(line)
    if (heading) {
      const [, marks = '', title = ''] = heading
      blocks.push(h(HEADINGS[marks.length - 1] ?? 'h6', { id: slug(title) }, inline(title)))
      end = at + 1
    } else if (line.startsWith('```')) {
      end = until(/^```\s*$/, at + 1)
      const code = lines.slice(at + 1, end).join('\n')
      blocks.push(h('pre', {}, line === '```json' ? indented(code) : code))
      end += 1
    } else if (line.startsWith('|')) blocks.push(table(lines.slice(at, end)))
    else if (/^[-*] /.test(line)) blocks.push(list(lines.slice(at, end), '[-*] '))
    else if (/^\d+\. /.test(line)) blocks.push(list(lines.slice(at, end), '\\d+\\. '))
    else if (line.trim() !== '' && !line.startsWith('<'))
      blocks.push(h('p', {}, inline(lines.slice(at, end).join(' '))))
    at = Math.max(end, at + 1)
  }
  return blocks
}

const TOKEN = /"(?:\\.|[^"\\])*"|[{}[\],:]|[^\s{}[\],:"]+/g
const LINE_WIDTH = 64

/** Lays out JSON token by token, so that every number and string stays as it was sent. Text that is not JSON stays as it is. */
export function indented(text: string): string {
  try {
    JSON.parse(text)
  } catch {
    return text
  }
  const tokens = text.match(TOKEN) ?? []
  let at = 0
  const next = (): string => tokens[at++] ?? ''
  const value = (indent: string): string => {
    const open = next()
    if (open !== '{' && open !== '[') return open
    const parts: string[] = []
    while (!/^[}\]]?$/.test(tokens[at] ?? '')) {
      if (tokens[at] === ',') at++
      const key = open === '{' ? `${next()}: ` : ''
      if (key) at++
      parts.push(key + value(`${indent}  `))
    }
    const close = next()
    const pad = open === '{' && parts.length > 0 ? ' ' : ''
    const line = open + pad + parts.join(', ') + pad + close
    if (parts.length === 0 || (indent !== '' && indent.length + line.length <= LINE_WIDTH && !line.includes('\n')))
      return line
    return `${open}\n${parts.map((part) => `${indent}  ${part}`).join(',\n')}\n${indent}${close}`
  }
  return value('')
}

/** An example as it would be sent or received. */
export const shown = (value: unknown): string =>
  typeof value === 'string' ? value.trimEnd() : indented(JSON.stringify(value))

import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { AppError } from '#src/lib/app-error.ts'
import { keptWork } from '#src/lib/shared-work.ts'
import { keepAnswer, tagAnswer } from '../answers/read-answers.ts'
import { httpErrors } from '../http.errors.ts'

/** Only files of this service, nothing inline, and no HTML made from text. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** Browsers keep what is named by its content for a year, and do not ask again. */
const KEPT = 'public, max-age=31536000, immutable'

const TYPES = {
  html: 'text/html',
  js: 'text/javascript',
  css: 'text/css',
  json: 'application/json',
  svg: 'image/svg+xml',
} as const

export interface Page {
  readonly html: string
  readonly files: readonly PageFile[]
}

export interface PageFile {
  /** The last part of its path: a name, a digest of the text, and one of the endings that have a type. */
  readonly name: string
  readonly text: string
}

/** Names a file by its content: `app.js` becomes `app-0123456789abcdef.js`. */
export function pageFile(name: string, text: string): PageFile {
  const [stem, ending] = name.split('.')
  return { name: `${stem}-${hash('sha256', text).slice(0, 16)}.${ending}`, text }
}

/** Puts the names of files into the HTML of a page, which names them as they are called in the checkout. */
export const withNames = (html: string, path: string, files: readonly PageFile[]): string =>
  files.reduce(
    (text, { name }) => text.replaceAll(`${path}/${name.replace(/-[0-9a-f]{16}\./, '.')}"`, `${path}/${name}"`),
    html,
  )

/** Serves a page at a path, and its files below it. It is made when somebody asks for the first time. */
export function servePage(app: FastifyInstance, path: string, make: () => Promise<Page>): void {
  const load = keptWork(async () => {
    const { html, files } = await make()
    return { html: keepAnswer(html), files: new Map(files.map(({ name, text }) => [name, keepAnswer(text)])) }
  })
  app.get(path, { schema: { hide: true } }, async (_request, reply) => {
    const { html } = await load()
    tagAnswer(reply)
    return reply
      .type(typeOf('html'))
      .header('cache-control', 'no-cache')
      .header('content-security-policy', POLICY)
      .send(html)
  })
  app.get<{ Params: { file: string } }>(`${path}/:file`, { schema: { hide: true } }, async (request, reply) => {
    const { file } = request.params
    const text = (await load()).files.get(file)
    if (text === undefined) throw new AppError(httpErrors.notFound)
    return reply
      .type(typeOf(file.split('.').at(-1)))
      .header('cache-control', KEPT)
      .send(text)
  })
}

const typeOf = (ending = ''): string => `${TYPES[ending as keyof typeof TYPES]}; charset=utf-8`

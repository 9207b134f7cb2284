import { hash } from 'node:crypto'
import { basename } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { AppError } from '#src/lib/app-error.ts'
import { programFile, readProgramFile } from '#src/lib/program-files.ts'
import { keptWork } from '#src/lib/shared-work.ts'
import { keepAnswer, tagAnswer } from '../answers/read-answers.ts'
import { httpErrors } from '../http.errors.ts'
import { type Bundled, bundleName, bundleOf } from './bundle.ts'

/** What a page may not use. It may copy, which is allowed unless it is named. */
const FEATURES = [
  'accelerometer',
  'autoplay',
  'camera',
  'clipboard-read',
  'display-capture',
  'encrypted-media',
  'fullscreen',
  'gamepad',
  'geolocation',
  'gyroscope',
  'hid',
  'identity-credentials-get',
  'idle-detection',
  'local-fonts',
  'magnetometer',
  'microphone',
  'midi',
  'otp-credentials',
  'payment',
  'picture-in-picture',
  'publickey-credentials-create',
  'publickey-credentials-get',
  'screen-wake-lock',
  'serial',
  'storage-access',
  'usb',
  'window-management',
  'xr-spatial-tracking',
]

/** Only files of this service, nothing inline, and no HTML made from text. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** No page of another origin loads a file of a page. */
const FILE_HEADERS = { 'cross-origin-resource-policy': 'same-origin' }

/** Whoever opens a page from another origin has no hold on its window. */
const PAGE_HEADERS = {
  ...FILE_HEADERS,
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': FEATURES.map((feature) => `${feature}=()`).join(', '),
  'cache-control': 'no-cache',
}

/** Browsers keep what is named by its content for a year, and do not ask again. */
const KEPT = 'public, max-age=31536000, immutable'

const TYPES = {
  html: 'text/html',
  js: 'text/javascript',
  css: 'text/css',
  json: 'application/json',
  md: 'text/markdown',
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

/** Bundles, and the mark that every page has. */
export async function filesOf(...sources: readonly Bundled[]): Promise<PageFile[]> {
  const bundle = async (source: Bundled) => pageFile(basename(bundleName(source)), await bundleOf(source))
  const mark = pageFile('mark.svg', readProgramFile(programFile('page/mark.svg')))
  return [mark, ...(await Promise.all(sources.map(bundle)))]
}

/** Puts the names of files into the HTML of a page, which names them as they are called in the checkout. */
export const withNames = (html: string, path: string, files: readonly PageFile[]): string =>
  files.reduce(
    (text, { name }) => text.replaceAll(`${path}/${name.replace(/-[0-9a-f]{16}\./, '.')}"`, `${path}/${name}"`),
    html,
  )

/** Serves a page at each of its paths, and its files below the first. It is made when somebody asks for the first time. */
export function servePage(
  app: FastifyInstance,
  paths: readonly [string, ...string[]],
  make: () => Promise<Page>,
): void {
  const load = keptWork(async () => {
    const { html, files } = await make()
    return { html: keepAnswer(html), files: new Map(files.map(({ name, text }) => [name, keepAnswer(text)])) }
  })
  for (const path of paths) {
    app.get(path, { schema: { hide: true } }, async (_request, reply) => {
      const { html } = await load()
      tagAnswer(reply)
      return reply.type(typeOf('html')).headers(PAGE_HEADERS).send(html)
    })
  }
  app.get<{ Params: { file: string } }>(`${paths[0]}/:file`, { schema: { hide: true } }, async (request, reply) => {
    const { file } = request.params
    const text = (await load()).files.get(file)
    if (text === undefined) throw new AppError(httpErrors.notFound)
    return reply.type(typeOf(file)).headers(FILE_HEADERS).header('cache-control', KEPT).send(text)
  })
}

/** Serves a file that a page loads. Browsers keep it, and ask each time whether it is still the same. */
export function serveFile(app: FastifyInstance, path: string, make: () => Promise<string>): void {
  const load = keptWork(async () => keepAnswer(await make()))
  app.get(path, { schema: { hide: true } }, async (_request, reply) => {
    tagAnswer(reply)
    return reply
      .type(typeOf(path))
      .headers(FILE_HEADERS)
      .header('cache-control', 'no-cache')
      .send(await load())
  })
}

const typeOf = (path: string): string => `${TYPES[path.split('.').at(-1) as keyof typeof TYPES]}; charset=utf-8`

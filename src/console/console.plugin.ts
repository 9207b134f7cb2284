import { createHash } from 'node:crypto'
import type { FastifyPluginAsync } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import { keepAnswer, tagAnswer } from '#src/http/answers/read-answers.ts'
import { listProgramFiles, programFile, readProgramFile } from '#src/lib/program-files.ts'
import { keptWork } from '#src/lib/shared-work.ts'
import { LIBRARIES } from './libraries.ts'
import { importedBy } from './modules.ts'
import { importMap, pageHtml } from './page-html.ts'

const PAGE = programFile('console/page/')
/** What the page loads before anything else: all but the other views, which it loads when they are opened. */
const FIRST = ['app.js', 'views/now.js']
const TYPES: Readonly<Record<string, string>> = { js: 'text/javascript', json: 'application/json' }

interface ConsoleOptions {
  readonly config: Config
}

export const consolePlugin: FastifyPluginAsync<ConsoleOptions> = async (app, { config }) => {
  const files = listProgramFiles(PAGE)
  const styles = files.filter((file) => file.endsWith('.css'))
  const map = importMap()
  const policy = pagePolicy(map)

  const serve = (path: string, type: string, text: () => Promise<string>): void => {
    const load = keptWork(async () => keepAnswer(await text()))
    app.get(path, { schema: { hide: true } }, async (_request, reply) => {
      reply.type(`${type}; charset=utf-8`).header('cache-control', 'no-cache')
      if (type === 'text/html') reply.header('content-security-policy', policy)
      tagAnswer(reply)
      return load()
    })
  }

  serve('/console', 'text/html', async () =>
    pageHtml(await read('index.html'), { map, scripts: await importedBy(FIRST, read), config }),
  )
  serve('/console/page.css', 'text/css', async () => (await Promise.all(styles.map(read))).join('\n'))
  for (const file of files) {
    const type = TYPES[file.split('.')[1] ?? '']
    if (type !== undefined) serve(`/console/${file}`, type, () => read(file))
  }
  for (const { name, file } of LIBRARIES) {
    serve(`/console/libraries/${name}.js`, 'text/javascript', async () => withoutSourceMap(readProgramFile(file)))
  }
}

const read = async (file: string): Promise<string> => readProgramFile(new URL(file, PAGE))

/** The map is not served, and a browser's developer tools would ask for it. */
const withoutSourceMap = (script: string): string => script.replace(/\n?\/\/# sourceMappingURL=.*\s*$/, '\n')

/** Only files of this service, the one import map, and no HTML made from text. */
function pagePolicy(map: string): string {
  const digest = createHash('sha256').update(map).digest('base64')
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${digest}'`,
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
}

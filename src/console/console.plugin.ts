import type { Config } from '#src/config/load-config.ts'
import { filesOf, type Page, pageFile, servePage, withNames } from '#src/http/pages/serve-page.ts'
import type { PluginWith } from '#src/http/parts.ts'
import { english } from '#src/lib/messages/en.ts'
import { turkish } from '#src/lib/messages/tr.ts'
import { programFile, readProgramFile } from '#src/lib/program-files.ts'

const PATH = '/console'
/** The messages of the server, beside the words of the page. Their keys differ: messages have capital letters only. */
const MESSAGES = { en: english, tr: turkish }

export const consolePlugin: PluginWith<'config'> = async (app, { config }) => {
  servePage(app, [PATH], () => consolePage(config))
}

async function consolePage({ loginEmailField, bodyLimitBytes }: Config): Promise<Page> {
  const read = (file: string): string => readProgramFile(programFile(`console/page/${file}`))
  const files = await filesOf('page/start.ts', 'console/page/app.tsx', 'console/page/page.css')
  const texts = Object.entries(MESSAGES).map(([language, messages]) =>
    pageFile(`${language}.json`, JSON.stringify({ ...JSON.parse(read(`texts/${language}.json`)), ...messages })),
  )
  const textsOf = Object.fromEntries(texts.map(({ name }) => [name.slice(0, 2), `${PATH}/${name}`]))
  // What the page needs to know before anybody has signed in.
  const settings = attribute(JSON.stringify({ loginEmailField, bodyLimitBytes, texts: textsOf }))
  const html = withNames(read('index.html'), PATH, files).replace(
    '<!-- settings -->',
    () => `<meta name="settings" content="${settings}" />`,
  )
  return { html, files: [...files, ...texts] }
}

const attribute = (text: string): string => text.replace(/[&"<>]/g, (sign) => `&#${sign.charCodeAt(0)};`)

import type { Config } from '#src/config/load-config.ts'
import { LIBRARIES } from './libraries.ts'

interface PageParts {
  readonly map: string
  /** Those that the page loads first, as paths below `/console/`. */
  readonly scripts: readonly string[]
  readonly config: Config
}

/** Returns the text of the import map. The page's policy allows exactly these bytes. */
export const importMap = (): string =>
  JSON.stringify({
    imports: Object.fromEntries(LIBRARIES.map(({ specifier, name }) => [specifier, `/console/libraries/${name}.js`])),
  })

/** Fills in the page's frame. Browsers ask for the modules at once instead of one import after the other. */
export function pageHtml(frame: string, { map, scripts, config }: PageParts): string {
  const modules = [...LIBRARIES.map(({ name }) => `libraries/${name}.js`), ...scripts]
  const preloads = modules.map((file) => `<link rel="modulepreload" href="/console/${file}" />`)
  return frame
    .replace('<!-- import map -->', () => `<script type="importmap">${map}</script>`)
    .replace('<!-- modules -->', () => preloads.join('\n    '))
    .replace('<!-- settings -->', () => settingsTag(config))
}

/** What the page needs to know before anybody has signed in. */
function settingsTag({ loginEmailField, loginAnswer }: Config): string {
  const settings = JSON.stringify({ loginEmailField, loginAnswer })
  return `<meta name="settings" content="${settings.replace(/[&"<>]/g, (sign) => `&#${sign.charCodeAt(0)};`)}" />`
}

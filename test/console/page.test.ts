import { globSync, readdirSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { LIBRARIES } from '#src/console/libraries.ts'
import { importedBy } from '#src/console/modules.ts'
import { english } from '#src/lib/messages/en.ts'
import { turkish } from '#src/lib/messages/tr.ts'
import { failure } from '../support/failure.ts'
import { testApp } from '../support/test-app.ts'

const folder = new URL('../../src/console/page/', import.meta.url)
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
const read = (file: string): string => readFileSync(new URL(file, folder), 'utf8')
const isBelow = (most: number) => (size: number) => size < most
const texts = (language: string): Record<string, string> => JSON.parse(read(`texts/${language}.json`))

describe('the console', async () => {
  const { app } = await testApp()

  it('is HTML under a policy that allows its own files and the import map, and no HTML made from text', async () => {
    const answer = await app.inject('/console')
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    const policy = String(answer.headers['content-security-policy'])
    expect(policy).toMatch(/^default-src 'none'; script-src 'self' 'sha256-[\w+/=]{44}'; style-src 'self'; /)
    expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(answer.payload.match(/<script(?! type="importmap")/g)).toEqual(['<script', '<script'])
    expect(answer.payload).not.toMatch(/<style|style=|https?:\/\//)
  })

  it('weighs less than 60 kB of scripts and 15 kB of styles, compressed, whichever view is opened', async () => {
    const sizeOf = async (url: string): Promise<number> => {
      const answer = await app.inject({ url, headers: { 'accept-encoding': 'gzip' } })
      expect([url, answer.statusCode]).toEqual([url, 200])
      return answer.rawPayload.length
    }
    const views = Array.from(read('views/views.js').matchAll(/import\('\.\/([\w-]+\.js)'\)/g), ([, view = '']) => view)
    expect(views).toHaveLength(12)
    const libraries = LIBRARIES.map(({ name }) => `libraries/${name}.js`)
    for (const view of views) {
      const scripts = [...libraries, ...(await importedBy(['app.js', `views/${view}`], async (file) => read(file)))]
      const sizes = await Promise.all(scripts.map((script) => sizeOf(`/console/${script}`)))
      expect([view, sizes.reduce((sum, size) => sum + size, 0)]).toEqual([view, expect.toSatisfy(isBelow(60_000))])
    }
    expect(await sizeOf('/console/page.css')).toBeLessThan(15_000)
  })

  it('names each script that it loads first, so that none waits for another', async () => {
    const page = (await app.inject('/console')).payload
    const named = Array.from(page.matchAll(/modulepreload" href="\/console\/([^"]+)"/g), ([, file = '']) => file)
    const first = await importedBy(['app.js', 'views/now.js'], async (file) => read(file))
    expect(named.filter((file) => !file.startsWith('libraries/'))).toEqual(first)
    expect(first).toContain('lib/session.js')
    expect(new Set(named).size).toBe(named.length)
  })

  it('serves each of its files as it is on the disk, compressed if it is large', async () => {
    for (const file of files.filter((each) => /\.(js|json)$/.test(each))) {
      const answer = await app.inject({ url: `/console/${file}`, headers: { 'accept-encoding': 'gzip' } })
      const packed = answer.headers['content-encoding'] === 'gzip'
      expect([file, packed]).toEqual([file, read(file).length >= 1024])
      expect((packed ? gunzipSync(answer.rawPayload) : answer.rawPayload).toString()).toBe(read(file))
    }
  })

  it('serves the messages of the server in both languages', async () => {
    expect((await app.inject('/console/messages/en.json')).json()).toEqual(english)
    expect((await app.inject('/console/messages/tr.json')).json()).toEqual(turkish)
  })

  it('serves no other file', async () => {
    const others = ['index.html', '../console.plugin.ts', '%2e%2e/libraries.ts', 'css/1-base.css', 'libraries/pg.js']
    for (const path of others) expect((await app.inject(`/console/${path}`)).json()).toEqual(failure('NOT_FOUND'))
  })

  it('is not there when it is turned off', async () => {
    const { app: without } = await testApp({ TESLIM_CONSOLE: 'off' })
    for (const url of [
      '/console',
      '/console/page.css',
      '/console/app.js',
      '/Operator/live',
      '/Operator/health',
      '/Operator/find',
    ])
      expect((await without.inject(url)).json()).toEqual(failure('NOT_FOUND'))
  })
})

describe('the texts of the console', () => {
  const [en, tr] = [texts('en'), texts('tr')]
  /** Without the forms of plurals, of which languages have different ones. */
  const keysOf = (all: Record<string, string>) => [
    ...new Set(Object.keys(all).map((key) => key.replace(/\.(one|other)$/, ''))),
  ]

  it('are the same in all languages, and none is empty', () => {
    expect(keysOf(tr).sort()).toEqual(keysOf(en).sort())
    expect([...Object.values(en), ...Object.values(tr)].filter((text) => text.trim() === '')).toEqual([])
  })

  it('name the same values', () => {
    const valuesOf = (text = ''): string[] => (text.match(/\{\w+\}/g) ?? []).sort()
    for (const [key, text] of Object.entries(en)) {
      if (tr[key] !== undefined) expect([key, valuesOf(tr[key])]).toEqual([key, valuesOf(text)])
    }
  })

  it('exist for every key that a script names, and all are used', () => {
    const scripts = files.filter((file) => file.endsWith('.js')).map(read)
    const named = scripts.flatMap((script) => Array.from(script.matchAll(/\bt\('([\w.]+)'/g), ([, key = '']) => key))
    const known = keysOf(en)
    expect(named.filter((key) => !known.includes(key))).toEqual([])
    // Other keys are made of a beginning and a name: t(`view.${name}`).
    const beginnings = scripts.flatMap((script) =>
      Array.from(script.matchAll(/`([\w.]+\.)\$\{/g), ([, beginning = '']) => beginning),
    )
    const unused = known.filter((key) => !named.includes(key) && !beginnings.some((each) => key.startsWith(each)))
    // signIn.expired and the like stand behind a beginning, too.
    expect(unused).toEqual([])
  })

  it('exist for every check of the doctor', () => {
    const sources = globSync('src/doctor/*.ts').map((file) => readFileSync(file, 'utf8'))
    const checks = sources.flatMap((source) =>
      Array.from(
        source.matchAll(/\b(?:(?:name|NAME) = |(?:ok|warning|failed|skipped)\()'([\w ]+)'/g),
        ([, name]) => name,
      ),
    )
    expect(new Set(checks).size).toBeGreaterThan(25)
    expect(checks.filter((name = '') => !(`health.name.${name.replaceAll(' ', '')}` in en))).toEqual([])
  })

  it('are not in the scripts', () => {
    const words = files
      .filter((file) => file.endsWith('.js'))
      .flatMap((file) =>
        Array.from(read(file).matchAll(/>\s*([A-Za-z][a-z]+(?: [a-z]+)+)\s*</g), ([, text]) => `${file}: ${text}`),
      )
    expect(words).toEqual([])
  })
})

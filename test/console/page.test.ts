import { hash } from 'node:crypto'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { LightMyRequestResponse } from 'fastify'
import { describe, expect, it } from 'vitest'
import { english } from '#src/lib/messages/en.ts'
import { turkish } from '#src/lib/messages/tr.ts'
import { failure } from '../support/app/failure.ts'
import { testApp } from '../support/app/test-app.ts'

const folder = new URL('../../src/console/page/', import.meta.url)
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
const read = (file: string): string => readFileSync(new URL(file, folder), 'utf8')
const texts = (language: string): Record<string, string> => JSON.parse(read(`texts/${language}.json`))

describe('the console', async () => {
  const { app } = await testApp()

  const page = await app.inject('/console')
  const named = page.payload.match(/\/console\/[\w.-]+/g) ?? []
  const [css = '', start = '', script = ''] = ['page.css', 'start.js', 'app.js'].map((name) =>
    named.find((path) => new RegExp(`/${name.replace('.', '-[0-9a-f]{16}[.]')}$`).test(path)),
  )
  const packed = async (url: string): Promise<LightMyRequestResponse> => {
    const answer = await app.inject({ url, headers: { 'accept-encoding': 'gzip' } })
    expect([url, answer.statusCode, answer.headers['content-encoding']]).toEqual([
      url,
      200,
      /start|mark/.test(url) ? undefined : 'gzip',
    ])
    return answer
  }

  it('weighs at most 64 kB of scripts and 8 kB of styles, compressed', async () => {
    const [scripts, first, styles] = await Promise.all([script, start, css].map(packed))
    expect((scripts?.rawPayload.length ?? 0) + (first?.rawPayload.length ?? 0)).toBeLessThan(64_000)
    expect(styles?.rawPayload.length).toBeLessThan(8000)
  })

  it('names its files by their content, so that a browser never asks for one again', async () => {
    expect(named).toHaveLength(6)
    for (const path of named) {
      const answer = await packed(path)
      expect([path, answer.headers['cache-control']]).toEqual([path, 'public, max-age=31536000, immutable'])
      const digest = hash('sha256', /start|mark/.test(path) ? answer.rawPayload : gunzipSync(answer.rawPayload)).slice(
        0,
        16,
      )
      expect(path).toContain(`-${digest}.`)
    }
    expect(page.headers).toMatchObject({ 'cache-control': 'no-cache', etag: expect.any(String) })
  })

  it('has the words of the page and the messages of the server in one file for each language', async () => {
    for (const [language, messages] of Object.entries({ en: english, tr: turkish })) {
      const path = named.find((each) => each.startsWith(`/console/${language}-`)) ?? ''
      expect((await app.inject(path)).json()).toEqual({ ...texts(language), ...messages })
    }
  })

  it('is the same bundle in another process', async () => {
    const { app: other } = await testApp()
    expect((await other.inject('/console')).payload).toBe(page.payload)
  })

  it('serves no other file', async () => {
    const others = ['index.html', '../console.plugin.ts', '%2e%2e/find.rule.ts', 'page.css', 'app.js', 'app.tsx']
    for (const path of others) expect((await app.inject(`/console/${path}`)).json()).toEqual(failure('NOT_FOUND'))
  })

  it('is not there when it is turned off', async () => {
    const { app: without } = await testApp({ TESLIM_CONSOLE: 'off' })
    for (const url of ['/console', css, script, '/Operator/live', '/Operator/health', '/Operator/find'])
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

  it('stand once: what says the same in both languages has one key', () => {
    const said = keysOf(en).map((key) => [key, en[key] && `${en[key]} / ${tr[key]}`] as const)
    const plain = said.filter(([, text]) => text !== undefined)
    const twice = plain.filter(([key, text]) => plain.some(([other, same]) => same === text && other !== key))
    expect(twice).toEqual([])
    const forms = [en, tr].flatMap((all) =>
      Object.keys(all).filter((key) => all[key] === all[`${key.slice(0, -4)}.other`]),
    )
    expect(forms.filter((key) => key.endsWith('.one'))).toEqual([])
  })

  it('are all used; that none is missing is held by their types', () => {
    const scripts = files.filter((file) => /\.tsx?$/.test(file)).map(read)
    const sources = globSync('src/**/*.{ts,tsx}').map((file) => readFileSync(file, 'utf8'))
    const quoted = new Set(sources.join('\n').match(/(?<=')[\w .-]+(?=')|(?<=")[\w.-]+(?=")|(?<=[{,\s])\w+(?=[:,} ])/g))
    // t(`word.${name}`) says what is called by one of these names.
    const beginnings = scripts.flatMap((script) =>
      Array.from(script.matchAll(/`([\w.]+\.)\$\{|named\('([\w.]+)'/g), ([, made, group]) => made ?? `${group}.`),
    )
    const isName = (rest: string) => quoted.has(rest) || quoted.has(rest.split('.')[0] ?? '')
    const isMade = (key: string) => beginnings.some((each) => key.startsWith(each) && isName(key.slice(each.length)))
    expect(keysOf(en).filter((key) => !quoted.has(key) && !isMade(key))).toEqual([])
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
    expect(checks.filter((name) => !(`health.name.${name}` in en || `word.${name}` in en))).toEqual([])
  })

  it('are not in the scripts', () => {
    const words = files
      .filter((file) => /\.tsx?$/.test(file))
      .flatMap((file) =>
        Array.from(read(file).matchAll(/>\s*([A-Za-z][a-z]+(?: [a-z]+)+)\s*<\//g), ([, text]) => `${file}: ${text}`),
      )
    expect(words).toEqual([])
  })
})

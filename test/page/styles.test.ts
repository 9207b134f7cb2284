import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'

const source = new URL('../../src/', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, source), 'utf8')
const base = read('page/base.css')
const own = readdirSync(new URL('console/page/css/', source)).map((name) => read(`console/page/css/${name}`))
const css = [base, ...own, read('docs/page/page.css')].join('\n').replace(/\/\*.*?\*\//gs, '')

/** Every value of these properties, as they are written. */
const valuesOf = (property: RegExp): string[] =>
  Array.from(css.matchAll(/^\s*(--)?([\w-]+):([^;{]+);/gm))
    .filter(([, custom, name = '']) => custom === undefined && property.test(name))
    .map(([, , , value = '']) => value.trim().replace(/\s+/g, ' '))

describe('the looks of the console and the reference page', () => {
  it('have four sizes of text, which follow the font size of the browser', () => {
    expect(new Set(Array.from(css.matchAll(/--text-\d: (.+);/g), ([, size]) => size))).toEqual(
      new Set(['0.75rem', '0.8125rem', '0.875rem', '1.25rem']),
    )
    const other = valuesOf(/^font(-size)?$/).filter(
      (value) => !/^(inherit$|var\(--text-\d\)( \/ [\d.]+(rem)? var\(--\w+\))?$)/.test(value),
    )
    expect(other).toEqual([])
    expect(css).not.toMatch(/:root[^{]*\{[^}]*font-size/)
  })

  it('have six spaces and two radii', () => {
    const spaces = valuesOf(/^((row-|column-)?gap|(margin|padding)(-\w+)*)$/).flatMap((value) =>
      value.replaceAll(/calc\(-1 \* (var\(--space-\d\))\)/g, '$1').split(' '),
    )
    expect(spaces.filter((value) => !/^(0|auto|1px|-1px|var\(--space-[1-6]\))$/.test(value))).toEqual([])
    const radii = valuesOf(/radius$/).flatMap((value) => value.split(' '))
    expect(radii.filter((value) => !/^(0|50%|var\(--radius\)|var\(--round\))$/.test(value))).toEqual([])
  })

  it('weigh less than 8 kB compressed', () => {
    expect(gzipSync([base, ...own].join('\n')).length).toBeLessThan(8000)
  })
})

describe('the colours', () => {
  const pairs = Array.from(css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g))
  const colours = new Map(pairs.map(([, name = '', light = '', dark = '']) => [name, { light, dark }]))

  /** Relative luminance, by WCAG 2.2. */
  const luminance = (colour: string): number => {
    const [red = 0, green = 0, blue = 0] = [1, 3, 5]
      .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const contrast = (one: string, other: string): number => {
    const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
    return (light + 0.05) / (dark + 0.05)
  }
  const STATUSES = ['status-0', 'status-1', 'status-2', 'status-3']

  it('are named once, and used by name', () => {
    expect(css.match(/#[0-9a-f]{3,8}\b/gi)).toHaveLength(2 * new Set(css.match(/--[\w-]+(?=: light-dark)/g)).size)
    expect(css).not.toMatch(/\b(?:rgb|hsl|oklch|color-mix)\(/)
  })

  it.each([
    ...['ink', 'muted', 'accent', 'failed', 'warning', 'good'].flatMap((text) =>
      ['ground', 'panel', 'raised'].map((behind) => ({ text, behind, least: 4.5 })),
    ),
    { text: 'on-accent', behind: 'accent', least: 4.5 },
    ...['edge', ...STATUSES].flatMap((text) => ['ground', 'panel'].map((behind) => ({ text, behind, least: 3 }))),
  ])('contrast by $least at least: $text on $behind, in the light and in the dark', ({ text, behind, least }) => {
    for (const theme of ['light', 'dark'] as const)
      expect(contrast(colours.get(text)?.[theme] ?? '', colours.get(behind)?.[theme] ?? '')).toBeGreaterThan(least)
  })

  it('of a Status are none of faults or links', () => {
    const others = ['failed', 'accent', 'warning', 'good'].map((name) => JSON.stringify(colours.get(name)))
    for (const status of STATUSES) expect(others).not.toContain(JSON.stringify(colours.get(status)))
    expect(new Set(STATUSES.map((status) => JSON.stringify(colours.get(status)))).size).toBe(4)
  })
})

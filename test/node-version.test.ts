import { globSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const root = new URL('../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const first = (text: string, pattern: RegExp): string => pattern.exec(text)?.[1] ?? `nothing matches ${pattern}`

/** What doctor asks for in production. */
const safe = first(read('src/doctor/checks.ts'), /SAFE_NODE = \[(\d+, \d+)\]/).replace(', ', '.')
const [major, minor] = safe.split('.').map(Number)

it('teslim runs on one major version of Node: engines, the bundled Node, the launcher, .nvmrc, the workflows and the container agree', () => {
  const { engines, devDependencies } = JSON.parse(read('package.json'))
  expect(engines.node).toBe(`>=${major}`)
  expect(devDependencies).toHaveProperty(`node-${major}`)
  const bundled: Record<string, string> = JSON.parse(read('tools/node/package.json')).optionalDependencies
  expect(Object.values(bundled).filter((version) => !version.startsWith(`${major}.`))).toEqual([])
  expect(first(read('bin/teslim.js'), /needs Node (\d+) or later/)).toBe(String(major))
  const image = first(read('Dockerfile'), /^FROM node:([\d.]+)-slim$/m)
  expect(first(read('Dockerfile'), /^FROM node:([\d.]+)-slim AS build$/m)).toBe(image)
  for (const workflow of globSync('.github/workflows/*.yml', { cwd: root }))
    expect([workflow, first(read(workflow), /image: node:([\d.]+)-bookworm-slim$/m)]).toEqual([workflow, image])
  expect(read('.nvmrc').trim()).toBe(image)
  const [imageMajor, imageMinor = Number.POSITIVE_INFINITY] = image.split('.').map(Number)
  expect(imageMajor).toBe(major)
  expect(imageMinor).toBeGreaterThanOrEqual(minor ?? Number.NaN)
})

it('every page names the Node for production that doctor asks for', () => {
  const pages = globSync(['*.md', 'docs/*.md', 'deploy/**/*.md'], { cwd: root }).filter(
    (page) => page !== 'CHANGELOG.md',
  )
  const said = pages.flatMap((page) =>
    Array.from(read(page).matchAll(/Node (\d+\.\d+) or later/g), ([, version]) => [page, version]),
  )
  expect(said.filter(([, version]) => version !== safe)).toEqual([])
  expect(said.map(([page]) => page)).toEqual(expect.arrayContaining(['README.md', 'docs/operations.md']))
})

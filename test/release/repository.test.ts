import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const packages = Array.from(read('.ci/packages').matchAll(/^([a-z]\S+) +\S/gm), ([, name = '']) => name)

describe('.ci/packages', () => {
  it('has a package and a command in each line, and what the tests of faults need', () => {
    const lines = read('.ci/packages')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    expect(lines).toHaveLength(packages.length)
    expect(packages).toEqual(expect.arrayContaining(['libatomic1', 'strace', 'faketime', 'iproute2', 'iptables']))
    expect(new Set(packages).size).toBe(packages.length)
  })
})

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Record<string, unknown>
}

interface Workflow {
  readonly on: Record<string, unknown>
  readonly permissions: unknown
  readonly jobs: {
    readonly checks: {
      readonly 'timeout-minutes': number
      readonly container: { readonly image: string; readonly options: string }
      readonly steps: readonly Step[]
      readonly strategy?: { readonly matrix: { readonly include: readonly { readonly command: string }[] } }
    }
  }
}

describe('a workflow', () => {
  const names = globSync('.github/workflows/*', { cwd: ROOT })
  const workflow = (name: string): Workflow => parse(read(name))

  it.each(names)('%s may only read, has no secret, and runs in Debian', (name) => {
    expect(workflow(name).permissions).toEqual({ contents: 'read' })
    expect(read(name)).not.toMatch(/secrets\.|github\.token|pull_request_target|https?:/i)
    for (const job of Object.values(workflow(name).jobs)) {
      expect(job['timeout-minutes']).toBeLessThanOrEqual(120)
      expect(job.container.image).toMatch(/^node:[\d.]+-bookworm-slim$/)
      expect(job.container.options).toContain('--privileged')
    }
  })

  it.each(names)('%s names actions by commit, and lets none keep the token', (name) => {
    const steps = Object.values(workflow(name).jobs).flatMap((job) => job.steps)
    const used = steps.filter(({ uses }) => uses !== undefined)
    expect(used.filter(({ uses = '' }) => !/^actions\/checkout@[\da-f]{40}$/.test(uses))).toEqual([])
    expect(used.map((step) => step.with)).toEqual(used.map(() => ({ 'persist-credentials': false })))
    expect(read(name).match(/uses: \S+ # v\d+\.\d+\.\d+$/gm)).toHaveLength(used.length)
    // What somebody else writes, such as the title of a pull request, must not become a part of a command.
    const commands = steps.map(({ run = '' }) => run).filter((run) => /\$\{\{(?! matrix\.command \}\})/.test(run))
    expect(commands).toEqual([])
  })

  it('runs .ci/run for each push and pull request', () => {
    const { on, jobs } = workflow('.github/workflows/ci.yml')
    expect(Object.keys(on)).toEqual(['push', 'pull_request'])
    expect(jobs.checks.steps.at(-1)?.run).toBe('bash .ci/run')
  })

  it('each night tests the oldest PostgreSQL, an hour of random faults, and the signatures of packages', () => {
    const { on, jobs } = workflow('.github/workflows/nightly.yml')
    expect(on).toHaveProperty('schedule')
    const commands = jobs.checks.strategy?.matrix.include.map(({ command }) => command) ?? []
    expect(commands[0]).toBe('TEST_POSTGRES=oldest bash .ci/run')
    expect(read('test/support/processes/global-setup.ts')).toContain("process.env.TEST_POSTGRES === 'oldest'")
    const [, seconds, files = ''] = /FAULTS_SECONDS=(\d+) .*? (test\/.*)\n/.exec(commands[1] ?? '') ?? []
    const tests = files.split(' ').flatMap((file) => globSync(`${file}.test.ts`, { cwd: ROOT }))
    expect(Number(seconds) * tests.length).toBe(3600)
    const listed = spawnSync('sh', ['-c', /\$\((awk .*)\)/.exec(commands[1] ?? '')?.[1] ?? ''], {
      cwd: ROOT,
      encoding: 'utf8',
    })
    expect(listed.stdout.trim().split('\n')).toEqual(packages)
    expect(commands[2]).toContain('npm audit signatures')
  })
})

describe('who writes to us', () => {
  interface Form {
    readonly name: string
    readonly description: string
    readonly body: readonly {
      readonly type: string
      readonly id?: string
      readonly attributes: { readonly label?: string; readonly value?: string }
      readonly validations?: { readonly required: boolean }
    }[]
  }
  const forms = ['bug', 'idea'].map((name): Form => parse(read(`.github/ISSUE_TEMPLATE/${name}.yml`)))

  it('fills in forms whose fields have a name and a label each', () => {
    for (const { name, description, body } of forms) {
      expect([typeof name, typeof description]).toEqual(['string', 'string'])
      const fields = body.filter(({ type }) => type !== 'markdown')
      expect(fields.filter(({ id, attributes }) => !id || !attributes.label)).toEqual([])
      expect(new Set(fields.map(({ id }) => id)).size).toBe(fields.length)
    }
    expect(parse(read('.github/ISSUE_TEMPLATE/config.yml'))).toMatchObject({ blank_issues_enabled: false })
  })

  it('says with a bug what `teslim version` and `teslim doctor` print, and the log line, and keeps secrets', () => {
    const { body } = forms[0] as Form
    const required = body.filter(({ validations }) => validations?.required).map(({ attributes }) => attributes.label)
    expect(required.join('\n')).toMatch(/`teslim version --json`[\s\S]*`teslim doctor --json`/)
    expect(body.map(({ attributes }) => attributes.label)).toContain('The log line')
    expect(body[0]?.attributes.value).toContain('SECURITY.md')
  })

  it('answers three lines in a pull request', () => {
    expect(read('.github/pull_request_template.md').trim().split('\n')).toHaveLength(3)
  })
})

it('renovate.json groups what is for development, pins, and leaves the major versions of Node and the oldest PostgreSQL', () => {
  const { extends: presets, rangeStrategy, packageRules } = JSON.parse(read('renovate.json'))
  expect(presets).toContain('schedule:weekly')
  expect(rangeStrategy).toBe('pin')
  expect(packageRules).toContainEqual({ matchDepTypes: ['devDependencies'], groupName: 'development' })
  const of = (groupName: string) => packageRules.find((rule: { groupName: string }) => rule.groupName === groupName)
  const { engines } = JSON.parse(read('package.json'))
  expect(of('Node').allowedVersions).toBe(`<${Number(engines.node.slice(2)) + 1}`)
  expect(of('PostgreSQL 14').matchFileNames).toEqual(['tools/postgres-14/package.json'])
})

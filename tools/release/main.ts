// `npm run release -- --dry-run` looks at what is in `dist`, and says whether it may be released, and how.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { otherVersions, versionOf } from '../version.ts'
import {
  artefactsOf,
  differences,
  programsOf,
  SIGNATURE,
  untested,
  wrongFiles,
  wrongInside,
  wrongSignature,
} from './artefacts.ts'
import { readTested, sha256, type Tested } from './tested.ts'
import {
  changedFiles,
  commitOf,
  missingNotes,
  missingSigners,
  notesOf,
  otherTag,
  placeholders,
  SIGNERS,
} from './tree.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const { values } = parseArgs({
  options: {
    'dry-run': { type: 'boolean', default: false },
    dist: { type: 'string', default: join(ROOT, 'dist') },
    // The folder that the build was given.
    node: { type: 'string' },
    // A file that no machine at hand can run. May be given several times.
    'not-tested': { type: 'string', multiple: true, default: [] },
  },
})

/** Builds once more, and compares. */
function secondBuild(dist: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'teslim-release-'))
  try {
    const again = join(folder, 'dist')
    const options = ['--release', '--out', again, ...(values.node ? ['--node', values.node] : [])]
    const build = spawnSync(process.execPath, ['tools/build/main.ts', ...options], { cwd: ROOT, encoding: 'utf8' })
    if (build.status === 0) return differences(dist, again)
    return [/^(?:\w*Error: .*)$/m.exec(build.stderr)?.[0] ?? `the build ended with ${build.status}: ${build.stderr}`]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function check(dist: string, wanted: { version: string; commit: string }): number {
  const checks: [string, () => string[]][] = [
    ['the tree is clean', () => changedFiles(ROOT)],
    ['every place names one version', () => otherVersions(ROOT)],
    ['the changelog says what this version is', () => missingNotes(ROOT)],
    ['this version is not released yet', () => otherTag(ROOT)],
    ['addresses are real', () => placeholders(ROOT)],
    ['somebody can sign', () => missingSigners(ROOT)],
    ['the files are those of a release, with their checksums', () => wrongFiles(dist, wanted.version)],
    ['the signature is good, if there is one', () => wrongSignature(dist, join(ROOT, SIGNERS))],
    ['they are of this commit, with a Node that doctor accepts', () => wrongInside(dist, wanted)],
    ['the suite passed on them', () => untested(ROOT, dist, wanted, values['not-tested'])],
    ['a second build has the same bytes', () => secondBuild(dist)],
  ]
  const failed = checks.filter(([name, run]) => {
    const problems = attempt(run)
    console.log(`${problems.length === 0 ? 'ok    ' : 'FAILED'}  ${name}`)
    for (const problem of problems) console.log(`          ${problem}`)
    return problems.length > 0
  })
  return failed.length
}

/** What cannot be checked has failed. */
function attempt(run: () => string[]): string[] {
  try {
    return run()
  } catch (error) {
    return [`cannot be checked: ${(error as Error).message.split('\n')[0]}`]
  }
}

const saysOf = (tested: Tested | undefined): string =>
  tested === undefined
    ? 'by nobody, which the notes have to say'
    : `${tested.passed} passed, ${tested.skipped.length} skipped, on ${tested.platform} at ${tested.at}`

function instructions(dist: string, { version, commit }: { version: string; commit: string }): string {
  const at = relative('', dist) || '.'
  const sums = [...artefactsOf(version), 'SHA256SUMS'].map(
    (name) => `  ${sha256(readFileSync(join(dist, name)))}  ${at}/${name}`,
  )
  return [
    '',
    'Tested:',
    ...programsOf(version).map((name) => `  ${name}: ${saysOf(readTested(ROOT, name))}`),
    '',
    `Sign, with a key that ${SIGNERS} names, and run this again:`,
    `  ssh-keygen -Y sign -n file -f KEY ${at}/SHA256SUMS`,
    `  git tag --sign v${version} --message 'teslim ${version}' ${commit}`,
    '',
    `Upload as v${version}:`,
    ...sums,
    `  ${' '.repeat(64)}  ${at}/${SIGNATURE}`,
    '',
    'With these notes:',
    '',
    notesOf(ROOT),
  ].join('\n')
}

if (values['dry-run']) {
  const dist = resolve(values.dist)
  const wanted = { version: versionOf(ROOT), commit: commitOf(ROOT) }
  const failed = check(dist, wanted)
  console.log(failed > 0 ? `\n${failed} of the checks failed: upload nothing.` : instructions(dist, wanted))
  if (failed > 0) process.exitCode = 1
} else {
  console.error('uploading is yours: run this with --dry-run, and upload what it names')
  process.exitCode = 2
}

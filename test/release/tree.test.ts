import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import * as tree from '../../tools/release/tree.ts'
import { tempFolder } from '../support/temp-folder.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const ADDRESSES = {
  repository: { url: 'https://github.com/teslim/teslim.git' },
  homepage: 'https://github.com/teslim/teslim',
  bugs: { url: 'https://github.com/teslim/teslim/issues' },
}

/** A repository that may be released. */
function repository() {
  const root = tempFolder()
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.co', ...args], { cwd: root, encoding: 'utf8' })
  const write = (file: string, text: string) => writeFileSync(join(root, file), text)
  const writeManifest = (more: object) =>
    write('package.json', JSON.stringify({ name: 'teslim', version: '1.0.0', ...ADDRESSES, ...more }))
  const commit = () => {
    git('add', '--all')
    git('commit', '--quiet', '--message', 'all')
  }
  mkdirSync(join(root, 'docs'))
  writeManifest({})
  write('CHANGELOG.md', '# Changelog\n\n## 1.0.0\n\nThe first.\n\n### Parts\n\n- one\n\n## 0.9.0\n\n- old\n')
  write(tree.SIGNERS, 'releases@teslim namespaces="file" ssh-ed25519 AAAA\n')
  write('.gitignore', 'dist/\n')
  git('init', '--quiet')
  commit()
  return { root, git, write, writeManifest, commit }
}

it('nothing is wrong with a repository that may be released', () => {
  const { root, git } = repository()
  git('tag', 'v1.0.0')
  expect([
    tree.changedFiles(root),
    tree.otherTag(root),
    tree.placeholders(root),
    tree.missingNotes(root),
    tree.missingSigners(root),
  ]).toEqual([[], [], [], [], []])
  expect(tree.notesOf(root)).toBe('The first.\n\n### Parts\n\n- one')
})

describe('a release is refused', () => {
  it('of a tree with files that are changed, staged or new, but not for what git ignores', () => {
    const { root, git, write } = repository()
    mkdirSync(join(root, 'dist'))
    write('dist/teslim', '')
    expect(tree.changedFiles(root)).toEqual([])
    write('new', '')
    write('staged', '')
    git('add', 'staged')
    write('CHANGELOG.md', '')
    expect(tree.changedFiles(root)).toEqual([
      'M CHANGELOG.md is not committed',
      'A  staged is not committed',
      '?? new is not committed',
    ])
  })

  it('where git cannot tell', () => {
    expect(() => tree.changedFiles(tempFolder())).toThrow('git status: fatal: not a git repository')
  })

  it('of a version that is the tag of another commit', () => {
    const { root, git, write, commit } = repository()
    const first = tree.commitOf(root)
    git('-c', 'tag.gpgsign=false', 'tag', '--annotate', '--message', 'x', 'v1.0.0')
    write('more', '')
    commit()
    expect(tree.otherTag(root)).toEqual([`v1.0.0 is ${first}: this version was released already`])
  })

  it.each([
    ['# Changelog\n\n## Unreleased\n\n- new\n\n## 1.0.0\n\n- old\n'],
    ['# Changelog\n\n## 1.0.00\n\n- new\n'],
    ['# Changelog\n\n## 1.0.0\n\n## 0.9.0\n\n- old\n'],
    ['# Changelog\n'],
  ])('without notes: %j', (changelog) => {
    const { root, write } = repository()
    write('CHANGELOG.md', changelog)
    expect(tree.missingNotes(root)).toEqual(['the first section of CHANGELOG.md is not one of 1.0.0, or it is empty'])
  })

  it('with notes that have the day of the release', () => {
    const { root, write } = repository()
    write('CHANGELOG.md', '# Changelog\n\n## 1.0.0, 2026-12-01\n\n- new\n')
    expect([tree.missingNotes(root), tree.notesOf(root)]).toEqual([[], '- new'])
  })

  it.each<[string, object, string]>([
    ['a placeholder', { homepage: 'https://git.example.com/teslim' }, 'homepage is https://git.example.com/teslim, a'],
    ['a domain that nobody has', { bugs: { url: 'https://bugs.teslim.invalid/' } }, 'bugs.url is https://bugs.teslim'],
    ['no address', { repository: { url: undefined } }, 'package.json has no address in repository.url'],
    ['no URL', { bugs: { url: 'git.teslim.org' } }, 'package.json has no address in bugs.url'],
    ['nothing', { bugs: undefined }, 'package.json has no address in bugs.url'],
  ])('with %s in package.json', (_, fields, problem) => {
    const { root, writeManifest } = repository()
    writeManifest(fields)
    expect(tree.placeholders(root)).toEqual([expect.stringContaining(problem)])
  })

  it('with a placeholder in another file', () => {
    const { root, write, commit } = repository()
    write('Dockerfile', 'a https://git.example.com/teslim\nb\nc https://git.example.com/teslim.git\n')
    commit()
    expect(tree.placeholders(root)).toEqual(['Dockerfile: 2 x git.example.com'])
  })

  it('without a key that signs', () => {
    const { root, write } = repository()
    write(tree.SIGNERS, '# releases@teslim namespaces="file" ssh-ed25519 AAAA\n\n')
    const missing = [`${tree.SIGNERS} names no key: add the line of whoever signs`]
    expect(tree.missingSigners(root)).toEqual(missing)
    rmSync(join(root, tree.SIGNERS))
    expect(tree.missingSigners(root)).toEqual(missing)
  })
})

describe('npm run release', () => {
  const release = (...args: string[]) =>
    spawnSync(process.execPath, ['tools/release/main.ts', ...args], { cwd: ROOT, encoding: 'utf8' })

  it('uploads nothing itself', () => {
    const { status, stdout, stderr } = release()
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toContain('uploading is yours')
  })

  it('--dry-run says all that is wrong at once, and does not say how to sign', () => {
    const { status, stdout, stderr } = release('--dry-run', '--dist', tempFolder())
    expect([status, stderr]).toEqual([1, ''])
    expect(stdout).toContain('FAILED  the files are those of a release, with their checksums\n')
    expect(stdout).toContain('FAILED  they are of this commit, with a Node that doctor accepts\n')
    expect(stdout).toContain('FAILED  the suite passed on them\n')
    expect(stdout).toContain('ok      every place names one version\n')
    expect(stdout).toMatch(/\n\d+ of the checks failed: upload nothing\.\n$/)
    expect(stdout).not.toContain('ssh-keygen')
  })
})

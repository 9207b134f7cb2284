// What must hold of the checkout that a release is made from. Each function returns what is wrong.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { versionOf } from '../version.ts'

/** Domains that belong to nobody (RFC 2606). */
const PLACEHOLDER = /(?:^|[/.@])example\.(?:com|net|org)$|\.(?:example|invalid|test)$|^localhost$/

/** Has the addresses of this repository until it is published. */
const HOST = 'git.example.com'

/** One line for each key, as `ssh-keygen -Y verify` reads it. */
export const SIGNERS = 'docs/release-signers'

const read = (root: string, path: string): string => readFileSync(join(root, path), 'utf8')

function git(root: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  if (error) throw new Error(`git ${args[0]}: ${error.message}`)
  if (status !== 0 && stderr !== '') throw new Error(`git ${args[0]}: ${stderr.trim()}`)
  return stdout
}

export const commitOf = (root: string): string => git(root, 'rev-parse', 'HEAD').trim()

export const changedFiles = (root: string): string[] =>
  git(root, 'status', '--porcelain')
    .split('\n')
    .filter(Boolean)
    .map((line) => `${line.trim()} is not committed`)

/** A tag that is there already must be of this commit. */
export function otherTag(root: string): string[] {
  const tag = `v${versionOf(root)}`
  const tagged = git(root, 'rev-parse', '--quiet', '--verify', `refs/tags/${tag}^{commit}`).trim()
  return tagged === '' || tagged === commitOf(root) ? [] : [`${tag} is ${tagged}: this version was released already`]
}

/** Returns the section of the changelog that says what a version is. */
export function notesOf(root: string): string {
  const [, title = '', notes = ''] = /^## (.*)\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(read(root, 'CHANGELOG.md')) ?? []
  return title.split(/[ ,]/)[0] === versionOf(root) ? notes.trim() : ''
}

export const missingNotes = (root: string): string[] =>
  notesOf(root) === '' ? [`the first section of CHANGELOG.md is not one of ${versionOf(root)}, or it is empty`] : []

/** Addresses that stand for those of the real repository. */
export function placeholders(root: string): string[] {
  const { repository, homepage, bugs } = JSON.parse(read(root, 'package.json'))
  const named = Object.entries({ 'repository.url': repository?.url, homepage, 'bugs.url': bugs?.url })
  const wrong = named.flatMap(([field, address]) => {
    if (typeof address !== 'string' || !URL.canParse(address)) return [`package.json has no address in ${field}`]
    return PLACEHOLDER.test(new URL(address).hostname) ? [`package.json: ${field} is ${address}, a placeholder`] : []
  })
  // Copies of them, wherever they stand. These files only name their host, and tests try it out.
  const elsewhere = [':!test', ':!tools', ':!package.json']
  const copies = git(root, 'grep', '--count', '-I', '--fixed-strings', HOST, '--', ...elsewhere)
  return [
    ...wrong,
    ...Array.from(copies.matchAll(/^(.+):(\d+)$/gm), ([, file, lines]) => `${file}: ${lines} x ${HOST}`),
  ]
}

/** Downloads are checked with the keys of this file, so it must have one. */
export function missingSigners(root: string): string[] {
  const keys = existsSync(join(root, SIGNERS))
    ? read(root, SIGNERS)
        .split('\n')
        .filter((line) => /^[^#\s].* (?:ssh|sk-ssh|ecdsa)-/.test(line))
    : []
  return keys.length > 0 ? [] : [`${SIGNERS} names no key: add the line of whoever signs`]
}

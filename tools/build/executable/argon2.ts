// Stands in for @node-rs/argon2 in an executable, which carries its native part as an asset.
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getRawAsset } from 'node:sea'
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'
import * as ofNode from './argon2-of-node.ts'

const FILE = 'argon2.node'
/** Where programs may be written and run: mostly the first. */
const FOLDERS = [tmpdir(), '/dev/shm', '/var/tmp']

/** Loads the library once for all threads: each copy would stay in memory after its thread has ended. */
function load(): typeof ofNode {
  const loaded = getEnvironmentData(FILE)
  if (typeof loaded === 'number') return open(loaded)
  // Threads do not try again what the main thread could not.
  for (const folder of isMainThread ? FOLDERS : []) {
    const library = openIn(folder)
    if (library) return library
  }
  if (isMainThread) {
    const places = FOLDERS.join(', ')
    console.error(
      `teslim: passwords are hashed by Node itself, which takes longer: no library can be loaded from ${places}`,
    )
  }
  return ofNode
}

/** Undefined if nothing can be written there, or what is written cannot be run. */
function openIn(folder: string): typeof ofNode | undefined {
  let descriptor: number | undefined
  try {
    descriptor = unpack(folder)
    const library = open(descriptor)
    setEnvironmentData(FILE, descriptor)
    return library
  } catch {
    if (descriptor !== undefined) closeSync(descriptor)
    return undefined
  }
}

/** Writes the library to a file that nobody else can reach, and that is gone when this process ends. Returns its descriptor. */
function unpack(parent: string): number {
  const folder = mkdtempSync(join(parent, 'teslim-'))
  try {
    const descriptor = openSync(join(folder, FILE), 'wx+', 0o600)
    writeFileSync(descriptor, Buffer.from(getRawAsset(FILE)))
    return descriptor
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function open(descriptor: number): typeof ofNode {
  const library = { exports: {} }
  process.dlopen(library, `/proc/self/fd/${descriptor}`)
  return library.exports as typeof ofNode
}

export const { hash, hashSync, parseOptions, verify, verifySync } = load()

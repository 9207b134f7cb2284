// Stands in for @node-rs/argon2 in an executable, which carries its native part as an asset.
import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
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
  if (typeof loaded === 'string') return open(loaded)
  for (const folder of FOLDERS) {
    try {
      const path = unpack(folder)
      const library = open(path)
      setEnvironmentData(FILE, path)
      return library
    } catch {}
  }
  if (isMainThread) {
    const places = FOLDERS.join(', ')
    console.error(
      `teslim: passwords are hashed by Node itself, which takes longer: no library can be loaded from ${places}`,
    )
  }
  return ofNode
}

/** Writes the library to a file that nobody else can reach, and that is gone when this process ends. */
function unpack(parent: string): string {
  const folder = mkdtempSync(join(parent, 'teslim-'))
  try {
    const file = join(folder, FILE)
    writeFileSync(file, Buffer.from(getRawAsset(FILE)), { mode: 0o600 })
    return `/proc/self/fd/${openSync(file, 'r')}`
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function open(path: string): typeof ofNode {
  const library = { exports: {} }
  process.dlopen(library, path)
  return library.exports as typeof ofNode
}

export const { hash, hashSync, parseOptions, verify, verifySync } = load()

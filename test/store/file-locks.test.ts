import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { otherHolders, otherWriters } from '#src/store/sqlite/locks/file-locks.ts'
import { tempFolder } from '../support/temp-folder.ts'

it('names the process that locks a file, but none that locks the file of the same number on another device', async () => {
  if (process.platform !== 'linux') return console.log('file locks: skipped, they are read from /proc')
  const path = join(tempFolder(), 'a.db')
  const program = `new (require('node:sqlite').DatabaseSync)(${JSON.stringify(path)}).exec('CREATE TABLE a (b); BEGIN IMMEDIATE'); console.log('locked'); setInterval(() => {}, 1000)`
  const other = spawn(process.execPath, ['-e', program])
  onTestFinished(() => void other.kill('SIGKILL'))
  await once(other.stdout, 'data')
  const { dev, ino } = statSync(path, { bigint: true })
  const named = [expect.stringMatching(new RegExp(`^node.* \\(process ${other.pid}\\)$`))]
  for (const find of [otherWriters, otherHolders]) {
    expect([await find([{ path, dev, ino }]), await find([{ path, dev: dev + 1n, ino }])]).toEqual([named, []])
  }
})

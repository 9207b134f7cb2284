import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { inEachThread } from '../../support/faults/faults.ts'
import { deliver, keyOfSupplier, missingFrom } from '../../support/processes/ledger.ts'
import { serve } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'

/** Runs in the threads of the server before their own code. */
const inWorkers = (code: string) =>
  inEachThread(`
    let commits = 0
    const crash = () => {
      appendFileSync('crashes', 'x')
      process.exit(3)
    }
    if (!isMainThread) { ${code} }`)

const BEFORE_COMMIT = `
  const { exec } = DatabaseSync.prototype
  DatabaseSync.prototype.exec = function (sql) {
    if (sql === 'COMMIT' && ++commits === 20) crash()
    return exec.call(this, sql)
  }`

/** A number alone says that all deliveries of a batch are stored. */
const AFTER_COMMIT = `
  const post = parentPort.postMessage.bind(parentPort)
  parentPort.postMessage = (message) => {
    if (typeof message === 'number' && ++commits === 20) crash()
    post(message)
  }`

it.each([
  ['within a transaction', BEFORE_COMMIT],
  ['between a commit and its answer', AFTER_COMMIT],
])(
  'a writer thread that crashes again and again %s costs nothing that was acknowledged, and deliveries go on',
  async (_, code) => {
    const cwd = tempFolder()
    const env = { NODE_ENV: 'production' }
    const key = await keyOfSupplier({ cwd, env })
    const server = await serve({ cwd, env, ...inWorkers(code) })
    const load = deliver({ url: server.url, key })
    const crashes = join(cwd, 'crashes')
    writeFileSync(crashes, '')
    // How many deliveries a commit stores depends on the machine.
    while (readFileSync(crashes, 'utf8').length < 3) await load.more(100)
    // What was under way, and nothing else.
    expect([...load.others.keys()]).toEqual([503])
    await server.printed(/the writer died: it ended with 3/)
    const path = join(cwd, 'data/teslim.db')
    if (process.platform !== 'linux') console.log('the lock after crashes: not checked, locks are read from /proc')
    else {
      const ours = ` ${server.child.pid} `
      const locks = readFileSync('/proc/locks', 'utf8').split('\n')
      expect(locks.filter((line) => line.includes(ours) && line.includes(`:${statSync(path).ino} `))).toHaveLength(1)
    }
    server.child.kill('SIGKILL')
    await load.stop()
    expect(missingFrom(path, load.acknowledged)).toEqual([])
  },
)

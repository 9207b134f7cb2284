import { join } from 'node:path'
import { expect } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Store } from '#src/store/store.ts'
import { tempFolder } from '../temp-folder.ts'
import { runCommand } from './command.ts'
import type { Outcome } from './process.ts'

/** What a command prints that succeeds, without a word on stderr. */
export function printedBy({ status, stdout, stderr }: Outcome): string {
  expect([status, stderr]).toEqual([0, ''])
  return stdout
}

/** Commands in a folder of their own, and the store that they find there, unless another is named. */
export function commandStage(env: Readonly<Record<string, string>> = {}, cwd = tempFolder()) {
  const path = join(cwd, 'data/teslim.db')
  const { DATABASE_URL: url = `sqlite:${path}` } = env
  const run = (...args: string[]) => runCommand(args, { cwd, env })
  const text = async (...args: string[]) => printedBy(await run(...args))
  const json = async (...args: string[]) => JSON.parse(await text(...args, '--json'))
  /** Works on the store itself, as commands do. It is made if it is not there. */
  const withStore = async <Result>(work: (store: Store) => Promise<Result>): Promise<Result> => {
    const { store } = await openStore(loadConfig({ DATABASE_URL: url }).config, 0, { withoutThreads: true })
    return work(store).finally(() => store.close())
  }
  return { cwd, path, url, run, text, json, withStore }
}

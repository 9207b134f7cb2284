import { globSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tempFolder } from '../temp-folder.ts'

const [library] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1')
export const canFakeClocks = library !== undefined
if (!canFakeClocks) console.log('skipped: libfaketime is not installed, so no clock is put forward or back')

/** Makes the wall clock of processes be ahead by so many seconds. Their monotonic clocks go on as ever. */
export function fakeClock(seconds = 0) {
  const file = join(tempFolder(), 'clock')
  const setClock = (ahead: number): void => writeFileSync(file, `${ahead < 0 ? '' : '+'}${ahead}\n`)
  setClock(seconds)
  const env = {
    LD_PRELOAD: library ?? '',
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    NO_FAKE_STAT: '1',
  }
  /** Removes what a process leaves behind that is killed. */
  const clear = (pid: number | undefined): void => {
    for (const name of ['faketime_shm', 'sem.faketime_sem']) rmSync(`/dev/shm/${name}_${pid}`, { force: true })
  }
  return { env, setClock, clear }
}

import { keepServersOff, limitsOf, type StoreOptions, sqlitePath } from '../open-store.ts'
import { unmarkMoved } from '../sqlite/moved.ts'
import { openSqliteStore } from '../sqlite/sqlite-store.ts'
import type { Store } from '../store.ts'

/** Lets a store that was moved be used again, once `work` has changed what must not stay as it was. */
export async function takeBack(
  options: StoreOptions,
  now: number,
  work: (store: Store) => Promise<void>,
): Promise<void> {
  const path = sqlitePath(options.databaseUrl)
  const lock = keepServersOff(options, now, 'teslim copy')
  try {
    const { store } = await openSqliteStore({
      path,
      now,
      limits: limitsOf(options),
      withoutThreads: true,
      evenMoved: true,
    })
    await work(store).finally(() => store.close())
    unmarkMoved(path)
  } finally {
    lock.release()
  }
}

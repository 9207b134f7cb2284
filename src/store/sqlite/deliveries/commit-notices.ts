export interface CommitNotices {
  watch(onCommit: () => void): () => void
  isWatched(): boolean
  /** Called after each commit of this thread. */
  tell(): void
}

/** Tells watchers of the commits of this thread and, where there are `commits`, of those of the other threads on the same store. */
export function createCommitNotices(commits: Int32Array | null): CommitNotices {
  const watchers = new Set<() => void>()
  /** The commits that watchers were told of. */
  let told = 0
  let listening = false

  const tellAll = (): void => {
    for (const onCommit of watchers) onCommit()
  }

  const listen = async (counter: Int32Array): Promise<void> => {
    listening = true
    told = Atomics.load(counter, 0)
    while (watchers.size > 0) {
      await Atomics.waitAsync(counter, 0, told).value
      const now = Atomics.load(counter, 0)
      if (now === told) continue
      told = now
      tellAll()
    }
    listening = false
  }

  return {
    watch(onCommit) {
      watchers.add(onCommit)
      if (commits !== null && !listening) void listen(commits)
      return () => void watchers.delete(onCommit)
    },
    isWatched: () => watchers.size > 0,
    tell() {
      if (commits !== null) {
        // Watchers hear of a commit of another thread in between when this thread wakes up.
        if (Atomics.add(commits, 0, 1) === told) told++
        Atomics.notify(commits, 0)
      }
      tellAll()
    },
  }
}

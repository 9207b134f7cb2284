/** Shares one run of the work among all callers that ask while it is under way. Calls with different keys are not shared. */
export function sharedWork<Arguments extends readonly unknown[], Result>(
  work: (...sent: Arguments) => Promise<Result>,
  keyOf: (...sent: Arguments) => string = () => '',
): (...sent: Arguments) => Promise<Result> {
  const underWay = new Map<string, Promise<Result>>()
  return (...sent) => {
    const key = keyOf(...sent)
    const shared = underWay.get(key) ?? work(...sent).finally(() => underWay.delete(key))
    underWay.set(key, shared)
    return shared
  }
}

/**
 * Shares one run of the work, as `sharedWork` does. Once it has taken longer than the limit, whoever waits for it gets what `late`
 * throws, and so does everybody who asks before its end.
 */
export function sharedWithin<Result>(
  milliseconds: number,
  work: () => Promise<Result>,
  late: () => Promise<never>,
): () => Promise<Result> {
  let underWay: Promise<Result> | undefined
  return () => {
    if (underWay === undefined) {
      const done = work()
      const { promise: limit, reject } = Promise.withResolvers<never>()
      const timer = setTimeout(() => late().catch(reject), milliseconds)
      const settle = (): void => {
        clearTimeout(timer)
        underWay = undefined
      }
      done.then(settle, settle)
      underWay = Promise.race([done, limit])
    }
    return underWay
  }
}

/** Shares one run of the work among all callers that ask within one turn of the event loop, before it has ended. */
export function sharedByTurn<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let ofThisTurn: Promise<Result> | undefined
  const end = (): void => {
    ofThisTurn = undefined
  }
  return () => {
    if (ofThisTurn === undefined) {
      ofThisTurn = work().finally(end)
      setImmediate(end)
    }
    return ofThisTurn
  }
}

/** Runs the work once at a time. Whoever asks while it is under way shares one more run, which begins after it. */
export function sharedOrNext<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let underWay: Promise<Result> | undefined
  let next: Promise<Result> | undefined
  const ask = (): Promise<Result> => {
    if (underWay === undefined) {
      underWay = work().finally(() => {
        underWay = undefined
      })
      return underWay
    }
    const again = (): Promise<Result> => {
      next = undefined
      return ask()
    }
    next ??= underWay.then(again, again)
    return next
  }
  return ask
}

/** Does work once and keeps its result; after a failure the next caller tries again. */
export function keptWork<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let kept: Promise<Result> | undefined
  return () => {
    kept ??= work().catch((error: unknown) => {
      kept = undefined
      throw error
    })
    return kept
  }
}

/** Does something when it is called first, and returns the same from then on. */
export function once<Result>(work: () => Result): () => Result {
  let done: { readonly result: Result } | undefined
  return () => {
    done ??= { result: work() }
    return done.result
  }
}

/** Runs calls of the work one after the other, in their order. */
export function oneByOne<Arguments extends readonly unknown[], Result>(
  work: (...sent: Arguments) => Promise<Result>,
): (...sent: Arguments) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve()
  return (...sent) => {
    const result = last.then(() => work(...sent))
    last = result.catch(() => undefined)
    return result
  }
}

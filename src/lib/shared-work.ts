/** Shares one run of the work among all callers that ask while it is under way. */
export function sharedWork<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let underWay: Promise<Result> | undefined
  return () => {
    underWay ??= work().finally(() => {
      underWay = undefined
    })
    return underWay
  }
}

/** Shares one run of the work among all callers that ask within one turn of the event loop. */
export function sharedByTurn<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let ofThisTurn: Promise<Result> | undefined
  return () => {
    if (ofThisTurn === undefined) {
      ofThisTurn = work()
      setImmediate(() => {
        ofThisTurn = undefined
      })
    }
    return ofThisTurn
  }
}

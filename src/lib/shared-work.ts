/** Work that is done once for all who ask for it while it is under way. */
export function sharedWork<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let underWay: Promise<Result> | undefined
  return () => {
    underWay ??= work().finally(() => {
      underWay = undefined
    })
    return underWay
  }
}

/** Work that is done once for all who ask within one turn of the event loop. */
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

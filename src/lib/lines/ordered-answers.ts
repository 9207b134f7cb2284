interface Place {
  text: string | undefined
  size: number
}

interface OrderedAnswersOptions {
  readonly maxPlaces: number
  readonly maxBytes: number
  /** Resolves when more can be written, to false if nobody reads any more. */
  readonly write: (text: string) => boolean | Promise<boolean>
  /** Called whenever `bytes` changes. */
  readonly onBytes: (difference: number) => void
}

/** Writes answers in the order in which they were asked for, whenever each is ready. */
export function createOrderedAnswers({ maxPlaces, maxBytes, write, onBytes }: OrderedAnswersOptions) {
  let places: Place[] = []
  let bytes = 0
  let writing = false
  let dropped = false
  let change = Promise.withResolvers<void>()

  const announce = (): void => {
    change.resolve()
    change = Promise.withResolvers()
  }

  const count = (difference: number): void => {
    bytes += difference
    onBytes(difference)
  }

  const takeReady = (): { readonly text: string; readonly size: number } => {
    const first = places.findIndex(({ text }) => text === undefined)
    const ready = first < 0 ? places : places.slice(0, first)
    places = first < 0 ? [] : places.slice(first)
    return { text: ready.map(({ text }) => text).join(''), size: ready.reduce((sum, { size }) => sum + size, 0) }
  }

  const writeReady = async (): Promise<void> => {
    while (places[0]?.text !== undefined) {
      const { text, size } = takeReady()
      const answer = write(text)
      announce()
      const isRead = typeof answer === 'boolean' ? answer : await answer
      count(-size)
      if (!isRead) drop()
    }
    writing = false
    announce()
  }

  const drop = (): void => {
    dropped = true
    for (const { size } of places) count(-size)
    places = []
    announce()
  }

  return {
    /** Takes the next place. Returns the function that fills it in. */
    add(size: number) {
      const place: Place = { text: undefined, size }
      if (dropped) return () => undefined
      count(size)
      places.push(place)
      return (text: string) => {
        if (dropped) return
        place.text = text
        count(text.length - place.size)
        place.size = text.length
        if (writing || places[0] !== place) return
        writing = true
        // Whatever else is filled in during this turn is written with it.
        setImmediate(writeReady)
      }
    },
    /** Whether places or bytes are at their limit, so that the next one must wait. */
    isFull: () => !dropped && (places.length >= maxPlaces || bytes >= maxBytes),
    /** Resolves when that may have changed. */
    changed: () => change.promise,
    /** Resolves when every answer was written. */
    async written() {
      while (!dropped && (places.length > 0 || writing)) await change.promise
    },
    /** Drops every answer that was not written, and all later ones. */
    drop,
    /** Bytes held: of what was asked for, then of the answer until `write` has resolved. */
    bytes: () => bytes,
  }
}

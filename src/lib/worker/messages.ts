/** No object: cloning one costs several times as much, because the names of its fields are cloned, too. */
export type Question<Request> = readonly [id: number, request: Request]

/** Ends the thread if it is null. The first one is the count of what was sent, in memory that both threads share. */
export type Message<Request> = Question<Request> | Int32Array | null

/** The id alone if the work returned nothing. */
export type Answer<Failure> = number | { readonly id: number; readonly result?: unknown; readonly failure?: Failure }

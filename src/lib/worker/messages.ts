/** No object: cloning one costs several times as much, because the names of its fields are cloned, too. */
export type Question<Request> = readonly [id: number, request: Request]

/** The id alone if the work returned nothing. */
export type Answer<Failure> = number | { readonly id: number; readonly result?: unknown; readonly failure?: Failure }

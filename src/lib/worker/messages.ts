export interface Question<Request> {
  readonly id: number
  readonly request: Request
}

export interface Answer<Failure> {
  readonly id: number
  readonly result?: unknown
  readonly failure?: Failure
}

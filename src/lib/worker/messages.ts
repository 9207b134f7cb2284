import type { MessagePort } from 'node:worker_threads'

export interface Join {
  readonly join: MessagePort
}

export interface Question<Request> {
  readonly id: number
  readonly request: Request
}

export interface Answer<Failure> {
  readonly id: number
  readonly result?: unknown
  readonly failure?: Failure
}

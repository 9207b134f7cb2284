/** One part of a request's work after another, each recorded as a span. */
export interface Steps {
  /** Ends the current step and begins another one. */
  next(name: string): void
  end(error?: unknown): void
}

export interface Tracing {
  /** Begins a step of the request that is being worked on; undefined outside of one, and for requests that are not recorded. */
  begin(name: string): Steps | undefined
}

/** Set once at the start, and only where traces are wanted: the store and the rules then need not be told about it. */
export const tracing: { current: Tracing | undefined } = { current: undefined }

/** Records a piece of work as one step. */
export async function traced<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const steps = tracing.current?.begin(name)
  if (steps === undefined) return work()
  try {
    const result = await work()
    steps.end()
    return result
  } catch (error) {
    steps.end(error)
    throw error
  }
}

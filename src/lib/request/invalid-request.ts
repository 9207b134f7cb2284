import { AppError, type Problem } from '../app-error.ts'
import { requestErrors } from './request.errors.ts'

const MAX_PROBLEMS = 20

/** Returns the refusal of a request that is wrong in these places. */
export function invalidRequest(problems: readonly Problem[]): AppError {
  const first = problems.slice(0, 3).map(({ path, message }) => `${path || 'the body'} ${message}`)
  const summary = first.join('; ')
  return new AppError(requestErrors.invalidRequest, {
    message: `The request is not valid: ${summary}${summary.endsWith('?') ? '' : '.'}`,
    problems: problems.slice(0, MAX_PROBLEMS),
  })
}

import { AppError, type Problem } from '../app-error.ts'
import { type Message, message, textOf } from '../messages/message.ts'
import { requestErrors } from './request.errors.ts'

const MAX_PROBLEMS = 20

/** Returns the refusal of a request that is wrong in these places. */
export function invalidRequest(problems: readonly Problem[]): AppError {
  const first = problems
    .slice(0, 3)
    .map(({ path, message: problem }) =>
      path === '' ? message('BODY_PROBLEM', { problem }) : message('PROBLEM_AT', { path, problem }),
    )
  const asks = first.at(-1) !== undefined && textOf(first.at(-1) as Message).endsWith('?')
  return new AppError(requestErrors.invalidRequest, {
    message: message(asks ? 'INVALID_REQUEST_MEANT' : 'INVALID_REQUEST_AT', { problems: first }),
    problems: problems.slice(0, MAX_PROBLEMS),
  })
}

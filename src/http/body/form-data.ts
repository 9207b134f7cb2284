import { AppError } from '#src/lib/app-error.ts'
import { httpErrors } from '../http.errors.ts'

/** Matches form data, which `curl -d` and PHP send by default: `Status=1&OrderID=...`, or multipart. */
const FORM = /^\s*(?:[\w.~%+*[\]-]{1,200}=|--[^\r\n]{1,200}\r?\nContent-Disposition:)/i

/** The refusal of a body that is not JSON, with a hint if it is form data. */
export const notJson = (text: string): AppError =>
  FORM.test(text)
    ? new AppError(httpErrors.bodyNotJson, {
        message: 'The body looks like form data, not like JSON: send a JSON object, such as {"Status":1}.',
        reason: 'form data',
      })
    : new AppError(httpErrors.bodyNotJson)

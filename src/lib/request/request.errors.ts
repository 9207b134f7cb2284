import type { ErrorDefinition } from '../app-error.ts'

/** Refusals of requests that no route could read. */
export const requestErrors = {
  bodyMissing: { code: 'BODY_MISSING', kind: 'invalid', message: 'The request needs a JSON object as its body.' },
  bodyNotUtf8: { code: 'BODY_NOT_UTF8', kind: 'invalid', message: 'The body is not valid UTF-8.' },
  bodyNotJson: { code: 'BODY_NOT_JSON', kind: 'invalid', message: 'The body is not valid JSON.' },
  bodyTooDeep: { code: 'BODY_TOO_DEEP', kind: 'invalid', message: 'The body nests deeper than 64 levels.' },
  forbiddenKey: {
    code: 'FORBIDDEN_KEY',
    kind: 'invalid',
    message: 'The body uses a key that is not allowed: __proto__ or constructor.prototype.',
  },
  bodyTooLarge: { code: 'BODY_TOO_LARGE', kind: 'too-large', message: 'The body is larger than allowed.' },
  invalidRequest: { code: 'INVALID_REQUEST', kind: 'invalid', message: 'The request is not valid.' },
} as const satisfies Record<string, ErrorDefinition>

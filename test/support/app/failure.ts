import { expect } from 'vitest'

/** What the envelope of a refusal looks like. */
export const failure = (errorCode: string, more = {}) => ({
  data: null,
  success: false,
  message: expect.any(String),
  errorCode,
  requestId: expect.any(String),
  ...more,
})

import type { ErrorDefinition } from '#src/lib/app-error.ts'

export const customerErrors = {
  emailInvalid: { code: 'EMAIL_INVALID', kind: 'invalid', message: 'The e-mail address is not valid.' },
  emailTaken: { code: 'EMAIL_TAKEN', kind: 'conflict', message: 'A customer with this e-mail address exists already.' },
  regionInvalid: { code: 'REGION_INVALID', kind: 'invalid', message: 'A region is two letters, such as TR.' },
  ruleInvalid: {
    code: 'AUTHORITY_RULE_INVALID',
    kind: 'invalid',
    message: 'An authority rule is a product code, a prefix such as ABC-*, or * alone.',
  },
  ruleMissing: { code: 'AUTHORITY_RULE_MISSING', kind: 'missing', message: 'The customer has no such rule.' },
  passwordShort: { code: 'PASSWORD_SHORT', kind: 'invalid', message: 'The password needs at least 8 characters.' },
  passwordUnusable: {
    code: 'PASSWORD_UNUSABLE',
    kind: 'invalid',
    message: 'The password must be at most 1024 bytes of valid Unicode.',
  },
  passwordCommon: {
    code: 'PASSWORD_COMMON',
    kind: 'invalid',
    message: 'The password is among the most used ones; choose another.',
  },
  labelInvalid: {
    code: 'LABEL_INVALID',
    kind: 'invalid',
    message: 'A label is at most 100 characters, without control or invisible characters.',
  },
  networkInvalid: {
    code: 'NETWORK_INVALID',
    kind: 'invalid',
    message: 'A network is an address, or a prefix such as 203.0.113.0/24 or 2001:db8::/32.',
  },
  keyNotFound: { code: 'API_KEY_NOT_FOUND', kind: 'missing', message: 'There is no such API key.' },
  keyEnded: { code: 'API_KEY_ENDED', kind: 'conflict', message: 'The API key has expired or was revoked.' },
  keyRotated: { code: 'API_KEY_ROTATED', kind: 'conflict', message: 'The API key has been rotated already.' },
  removed: { code: 'CUSTOMER_REMOVED', kind: 'conflict', message: 'The customer was removed.' },
  readOnlyAlone: {
    code: 'READ_ONLY_ALONE',
    kind: 'invalid',
    message: 'Only an operator can be read-only.',
  },
  notFound: { code: 'CUSTOMER_NOT_FOUND', kind: 'missing', message: 'There is no such customer.' },
} as const satisfies Record<string, ErrorDefinition>

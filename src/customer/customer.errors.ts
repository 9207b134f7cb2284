import { refusal } from '#src/lib/app-error.ts'

export const customerErrors = {
  emailInvalid: refusal('EMAIL_INVALID', 'invalid'),
  emailTaken: refusal('EMAIL_TAKEN', 'conflict'),
  nameInvalid: refusal('NAME_INVALID', 'invalid'),
  noteInvalid: refusal('NOTE_INVALID', 'invalid'),
  reasonInvalid: refusal('REASON_INVALID', 'invalid'),
  regionInvalid: refusal('REGION_INVALID', 'invalid'),
  ruleInvalid: refusal('AUTHORITY_RULE_INVALID', 'invalid'),
  ruleMissing: refusal('AUTHORITY_RULE_MISSING', 'missing'),
  passwordShort: refusal('PASSWORD_SHORT', 'invalid'),
  passwordUnusable: refusal('PASSWORD_UNUSABLE', 'invalid'),
  passwordCommon: refusal('PASSWORD_COMMON', 'invalid'),
  labelInvalid: refusal('LABEL_INVALID', 'invalid'),
  networkInvalid: refusal('NETWORK_INVALID', 'invalid'),
  keyNotFound: refusal('API_KEY_NOT_FOUND', 'missing'),
  keyEnded: refusal('API_KEY_ENDED', 'conflict'),
  keyRotated: refusal('API_KEY_ROTATED', 'conflict'),
  removed: refusal('CUSTOMER_REMOVED', 'conflict'),
  readOnlyAlone: refusal('READ_ONLY_ALONE', 'invalid'),
  supportAlone: refusal('SUPPORT_ALONE', 'invalid'),
  payloadsAlone: refusal('PAYLOADS_ALONE', 'invalid'),
  rolesTogether: refusal('ROLES_TOGETHER', 'invalid'),
  notFound: refusal('CUSTOMER_NOT_FOUND', 'missing'),
  /** What operators may not do to themselves. */
  self: refusal('OPERATOR_SELF', 'conflict'),
}

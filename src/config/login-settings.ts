import { choice, file, maskAll, secret, setting, text, whole } from './setting-kinds.ts'

/** Settings of logins, access tokens and signing keys. */
export const loginSettings = {
  loginEmailField: setting(
    'TESLIM_LOGIN_EMAIL_FIELD',
    text(
      'Email',
      /^(?!(?:password|callbackdata)$)[a-z][a-z0-9_.-]{0,63}$/i,
      'a field name of letters, digits, "_", "." and "-" other than Password and callbackData',
      'Name of the login field that carries the e-mail address.',
    ),
  ),
  loginAuthorization: setting(
    'TESLIM_LOGIN_AUTHORIZATION',
    choice(['reject', 'ignore'], 'What to do with an `Authorization` header on a login.'),
  ),
  loginAnswer: setting(
    'TESLIM_LOGIN_ANSWER',
    choice(
      ['contract', 'camel', 'both'],
      'Field names of the login answer: `Token` and `Expiration`, `token` and `expiration`, or both.',
    ),
  ),
  loginMemorySeconds: setting(
    'TESLIM_LOGIN_MEMORY',
    whole(300, 0, 86_400, 'Seconds that a verified password is recognised without hashing it again; 0 turns this off.'),
  ),
  tokenTtlSeconds: setting('TESLIM_TOKEN_TTL', whole(3600, 1, 31_536_000, 'Lifetime of an access token, in seconds.')),
  tokenAlgorithm: setting(
    'TESLIM_TOKEN_ALGORITHM',
    choice(['ES256', 'EdDSA'], 'Signature algorithm of access tokens.'),
  ),
  tokenIssuer: setting(
    'TESLIM_TOKEN_ISSUER',
    text(
      'teslim',
      /^[\x21-\x7e]{1,255}$/,
      '1 to 255 visible ASCII characters',
      '`iss` of access tokens. If it is the https URL of this service, libraries find the public keys by it.',
    ),
  ),
  tokenAudience: setting(
    'TESLIM_TOKEN_AUDIENCE',
    text('teslim', /^[\x21-\x7e]{1,255}$/, '1 to 255 visible ASCII characters', '`aud` of access tokens.'),
  ),
  secret: setting(
    'TESLIM_SECRET',
    secret('Encrypts the signing keys in the store; unless set, they are stored unencrypted.'),
    maskAll,
  ),
  secretFile: setting(
    'TESLIM_SECRET_FILE',
    file('File that contains the secret, instead of `TESLIM_SECRET`; one newline at the end is ignored.'),
  ),
  formerSecret: setting(
    'TESLIM_SECRET_OLD',
    secret('Previous secret; needed after a change until `teslim signing-key rewrap` has run.'),
    maskAll,
  ),
  formerSecretFile: setting(
    'TESLIM_SECRET_OLD_FILE',
    file('File that contains the previous secret, instead of `TESLIM_SECRET_OLD`; one newline at the end is ignored.'),
  ),
}

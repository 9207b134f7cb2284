import { asciiLowerCase } from '#src/lib/text.ts'
import { choice, type Kind } from './setting-kinds.ts'

const levels = choice(
  ['info', 'trace', 'debug', 'warn', 'error', 'fatal', 'silent'],
  'Lowest level that is logged, in any letter case; `warning` is `warn`.',
)

/** LOG_LEVEL is spelled as other programs on the same machine take it. */
export const logLevel = {
  ...levels,
  read: (written: string) => levels.read(asciiLowerCase(written).replace(/^warning$/, 'warn')),
}

const environments = choice(
  ['development', 'production', 'test'],
  'Outside `production` the first start makes the store and, if only this machine reaches `HOST`, a sandbox customer. Any other value, such as `staging`, counts as `production`.',
)
const readEnvironment = (written: string) => environments.read(asciiLowerCase(written))

/** NODE_ENV is read by other programs too, which know more values. None of those may open a sandbox on the internet. */
export const environment: Kind<ReturnType<typeof environments.read> & string> = {
  ...environments,
  allowed: 'any name; development, production and test are known',
  read: (written) => readEnvironment(written) ?? 'production',
  note: (written) => (readEnvironment(written) ? undefined : 'counts as production'),
}

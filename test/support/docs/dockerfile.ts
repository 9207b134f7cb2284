import { cpSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'

export interface Step {
  readonly instruction: string
  readonly text: string
}

/** Returns the instructions of a Dockerfile, with continued lines joined. */
export const parseDockerfile = (text: string): Step[] =>
  text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, instruction = '', rest = ''] = /^(\S+)\s+(.*)$/.exec(line) ?? []
      return { instruction, text: rest }
    })

/** Parses `A=b C="d e"`, as ENV and LABEL have it. */
export const assignments = (text: string): Record<string, string> =>
  Object.fromEntries(
    Array.from(text.matchAll(/(\S+?)=(?:"([^"]*)"|(\S*))/g), ([, name = '', quoted, plain]) => [
      name,
      quoted ?? plain ?? '',
    ]),
  )

/** Parses the JSON form of a command, the only form in which a signal reaches the process. */
export const words = (text: string): string[] => JSON.parse(text.slice(text.indexOf('['))) as string[]

/** Puts the values of variables into a text: `$NAME` and `${NAME:-default}`. */
export const substitute = (text: string, values: Record<string, string>): string =>
  text.replace(/\$(?:(\w+)|\{(\w+):-([^}]*)\})/g, (_, plain, name, other) => values[plain ?? name] || (other ?? ''))

/** Runs COPY from the repository into a folder; refuses what .dockerignore excludes. */
export function copy(text: string, { repository, to }: { repository: string; to: string }): void {
  const names = text.split(/\s+/)
  const target = names.pop() ?? ''
  const allowed = readFileSync(join(repository, '.dockerignore'), 'utf8').split('\n')
  for (const name of names) {
    if (!allowed.includes(`!${name}`)) throw new Error(`.dockerignore keeps ${name} out of the build`)
    const intoFolder = target.endsWith('/') && !statSync(join(repository, name)).isDirectory()
    cpSync(join(repository, name), join(to, target, intoFolder ? basename(name) : ''), { recursive: true })
  }
}

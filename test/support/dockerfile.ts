import { cpSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'

export interface Step {
  readonly instruction: string
  readonly text: string
}

/** The lines of a Dockerfile, continued ones joined. */
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

/** `A=b C="d e"` of ENV and LABEL. */
export const assignments = (text: string): Record<string, string> =>
  Object.fromEntries(
    Array.from(text.matchAll(/(\S+?)=(?:"([^"]*)"|(\S*))/g), ([, name = '', quoted, plain]) => [
      name,
      quoted ?? plain ?? '',
    ]),
  )

/** The argument lists of the JSON forms, the only ones in which a signal reaches the process. */
export const words = (text: string): string[] => JSON.parse(text.slice(text.indexOf('['))) as string[]

/** COPY from the repository into a folder, and of that only what .dockerignore lets through. */
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

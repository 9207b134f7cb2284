import { readFileSync } from 'node:fs'

/** Everything by which a process changes files and answers on sockets, with the path of each descriptor. */
const CALLS =
  'openat,mkdir,mkdirat,write,writev,pwrite64,pwritev,pwritev2,sendto,sendmsg,ftruncate,truncate,fallocate,fsync,fdatasync,sync_file_range,unlink,unlinkat,rename,renameat,renameat2'

/** Runs what comes after it and records its calls in order, those of all threads. Killing it kills what it runs. */
export const recording = (file: string): string[] => [
  'strace',
  '-D',
  '-f',
  '--seccomp-bpf',
  '-y',
  '-s',
  '2000000',
  '-e',
  `trace=${CALLS}`,
  '-e',
  'signal=none',
  '-o',
  file,
]

/** The moment at which a call began or ended. Between the two other threads may have done something. */
export interface Moment {
  readonly of: 'begin' | 'end'
  readonly call: Call
}

export interface Call {
  readonly name: string
  /** The file's path, for calls that concern a file. */
  readonly path: string
  /** The text between the parentheses, as strace wrote it. */
  readonly args: string
  /** Known at its end only. */
  result: number
  /** Known once `bytesOf` was asked. */
  bytes?: Buffer
}

/** The recorded calls that concern paths within a folder, or that send an answer that matches. */
export function readTrace(file: string, folder: string, answer: RegExp): Moment[] {
  const moments: Moment[] = []
  const underWay = new Map<string, Call>()
  for (const line of readFileSync(file, 'latin1').split('\n')) {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? []
    const call = rest.startsWith('<... ') ? underWay.get(thread) : beginOf(rest, folder, answer)
    if (call === undefined) continue
    if (!rest.startsWith('<... ')) moments.push({ of: 'begin', call })
    if (rest.endsWith('<unfinished ...>')) {
      underWay.set(thread, call)
      continue
    }
    underWay.delete(thread)
    // The process was killed meanwhile.
    if (rest.endsWith(' = ?')) continue
    call.result = Number(/\) += (-?\d+)[^"]*$/.exec(rest.slice(-200))?.[1])
    if (Number.isNaN(call.result)) throw new Error(`cannot read the result of ${rest.slice(0, 100)}`)
    moments.push({ of: 'end', call })
  }
  return moments
}

function beginOf(line: string, folder: string, answer: RegExp): Call | undefined {
  const open = line.indexOf('(')
  const name = line.slice(0, open)
  const args = line.slice(open + 1)
  // A descriptor's path, else the first argument that is a text.
  const path =
    /^\d+<([^>]*)>(?!\(deleted\))/.exec(args)?.[1] ?? /^(?:AT_FDCWD<[^>]*>, )?"([^"]*)"/.exec(args)?.[1] ?? ''
  if (path === folder || path.startsWith(`${folder}/`)) return { name, path, args, result: Number.NaN }
  const sends = path.startsWith('socket:') && answer.test(args)
  return sends ? { name, path: '', args, result: Number.NaN } : undefined
}

/** The bytes of the first text among the arguments. */
export const bytesOf = (call: Call): Buffer => (call.bytes ??= readBytes(call))

function readBytes({ args }: Call): Buffer {
  const start = args.indexOf('"') + 1
  let end = start
  while (args[end] !== '"') end += args[end] === '\\' ? 2 : 1
  const text = args
    .slice(start, end)
    .replace(/\\(?:([0-7]{1,3})|(.))/g, (_, octal?: string, letter = '') =>
      octal === undefined ? (ESCAPES[letter] ?? letter) : String.fromCharCode(Number.parseInt(octal, 8)),
    )
  return Buffer.from(text, 'latin1')
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', v: '\v', f: '\f' }

/** The last number among the arguments: where `pwrite64` writes, how long `ftruncate` leaves a file. */
export const lastNumber = ({ args }: Call): number =>
  Number(/, (\d+)(?:\) += .*| <unfinished \.\.\.>)$/.exec(args.slice(-200))?.[1])

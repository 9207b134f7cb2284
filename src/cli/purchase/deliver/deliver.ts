import { appendFileSync, type ReadStream, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { refuseRootIn, writeAnew } from '#src/lib/folder-of-another.ts'
import { counted, oneLine } from '#src/lib/printable.ts'
import { type CliContext, type Command, type Input, Misuse } from '../../command.ts'
import { readSecretText } from '../../input/password.ts'
import { readServerAddress, urlOption } from '../../input/server-address.ts'
import { deliverLines } from './deliver-lines.ts'
import { type FileLine, fileLines } from './file-lines.ts'
import type { LineAnswer } from './upload-request.ts'

const PROGRESS_EVERY_MILLISECONDS = 200

export const deliver: Command = {
  name: 'deliver',
  about: 'Send the deliveries in an NDJSON file to a server',
  details:
    'Each line is the body of a delivery, or {"IdempotencyKey":"...","Body":{...}}. Lines without a key get one that is derived from the line, so running the command again repeats nothing (within TESLIM_IDEMPOTENCY_DAYS of the server). It reconnects when the server goes away. FILE may be - for stdin. The API key comes from TESLIM_API_KEY or --key-stdin. The status is 1 if a line was refused or not sent.',
  positionals: ['FILE'],
  options: {
    ...urlOption('Send to this server instead of the one that HOST and PORT name'),
    check: { about: 'Only validate each line; nothing is stored' },
    'key-stdin': { about: 'Read the API key from stdin; one newline at the end is dropped' },
  },
  async run(input, context) {
    const name = input.word
    const server = readServerAddress(input, context.loadConfig)
    const { file, size } = name === '-' ? { file: context.stdin, size: undefined } : await openFile(name)
    try {
      const key = await readKey(input, context)
      const stop = context.stopSignal()
      const refusals = createRefusalFile(name, context)
      const progress = createProgress(context, size)
      const { reason, ...counts } = await deliverLines({
        lines: fileLines(file),
        server,
        key,
        validates: input.flag('check'),
        stop,
        monotonic: context.clock.monotonic,
        wait: (milliseconds) => wait(milliseconds, undefined, { signal: stop }).catch(() => undefined),
        onAnswered: progress.answered,
        onRefused: refusals.add,
        onRetry(why, seconds) {
          context.progress('')
          context.err(`teslim deliver: ${oneLine(why)}; trying again in ${counted(seconds, 'second')}`)
        },
      })
      context.progress('')
      const lines = counts.stored + counts.duplicates + counts.refused
      const refusedFile = refusals.end()
      if (reason !== undefined && !input.json)
        context.err(
          `teslim deliver: ${oneLine(reason).replace(/\.$/, '')}. Not every line was sent: run it again, which repeats nothing.`,
        )
      const parts = [
        `${counts.stored.toLocaleString('en')} ${input.flag('check') ? 'would be stored' : 'stored'}`,
        counted(counts.duplicates, 'duplicate'),
        `${counts.refused.toLocaleString('en')} refused`,
      ]
      const list = refusedFile === null ? '' : `\n  the refused lines are listed in ${refusedFile}`
      return {
        json: { lines, ...counts, complete: reason === undefined, reason: reason ?? null, refusedFile },
        text: () => `${counted(lines, 'line')} answered: ${parts.join(', ')}${list}`,
        status: reason === undefined && counts.refused === 0 ? 0 : 1,
      }
    } finally {
      file.destroy()
    }
  },
}

async function readKey(input: Input, context: CliContext): Promise<string> {
  if (input.flag('key-stdin')) {
    if (input.word === '-') throw new Misuse('--key-stdin and - both read stdin: put the key into TESLIM_API_KEY')
    return checkedKey(await readSecretText('API key', context))
  }
  const { apiKey } = context.loadConfig().config
  if (apiKey === '') throw new Misuse('an API key is needed: TESLIM_API_KEY or --key-stdin')
  return checkedKey(apiKey)
}

/** A header cannot hold anything else. */
function checkedKey(key: string): string {
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Misuse('the API key is not one line of visible characters')
  return key
}

async function openFile(name: string): Promise<{ file: ReadStream; size: number }> {
  try {
    const handle = await open(name)
    const stats = await handle.stat()
    if (stats.isDirectory()) throw new Error('it is a folder')
    return { file: handle.createReadStream(), size: stats.size }
  } catch (error) {
    throw new Misuse(`${name} cannot be read: ${(error as Error).message}`)
  }
}

function createProgress({ progress, clock }: CliContext, size: number | undefined) {
  const begun = clock.monotonic()
  let shownAt = begun
  let lines = 0
  return {
    answered({ end }: FileLine): void {
      lines++
      const now = clock.monotonic()
      if (now - shownAt < PROGRESS_EVERY_MILLISECONDS) return
      shownAt = now
      const perSecond = Math.round((lines / (now - begun)) * 1000)
      const part = size === undefined ? megabytes(end) : `${megabytes(end)} of ${megabytes(size)}`
      progress(`${counted(lines, 'line')}, ${part}, ${perSecond.toLocaleString('en')} a second`)
    },
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

/** Writes why lines were refused: beside the file, or to stderr for lines from stdin. */
function createRefusalFile(name: string, { err }: CliContext) {
  const path = `${name.replace(/\.ndjson$/i, '')}.refused.ndjson`
  if (name !== '-') refuseRootIn(dirname(path))
  let isThere = false
  return {
    add({ number }: FileLine, answer: LineAnswer): void {
      const { Line: _, ...refusal } = answer
      const text = JSON.stringify({ Line: number, ...refusal })
      if (name === '-') {
        err(text)
        return
      }
      if (isThere) appendFileSync(path, `${text}\n`)
      else writeAnew(path, `${text}\n`)
      isThere = true
    },
    /** Returns the path of the file; null if there is none. A file of an earlier run would mislead. */
    end(): string | null {
      if (name !== '-' && !isThere) rmSync(path, { force: true })
      return isThere ? path : null
    },
  }
}

import { styleText } from 'node:util'
import { printable } from '../printable.ts'

type Style = 'dim' | 'cyan' | 'green' | 'yellow' | 'red'
type Fields = Readonly<Record<string, unknown>>

const LEVELS: Readonly<Record<number, readonly [name: string, style: Style]>> = {
  10: ['trace', 'dim'],
  20: ['debug', 'dim'],
  30: ['info', 'cyan'],
  40: ['warn', 'yellow'],
  50: ['error', 'red'],
  60: ['fatal', 'red'],
}

/** How much of a request id is shown: its end, because the ids of one minute begin alike. */
const SHORT_ID = 8

/** Makes a function that turns a line of the JSON log into readable lines for a terminal. */
export function prettyLines(colours: boolean): (json: string) => string {
  const paint = (style: Style, text: string): string =>
    colours ? styleText(style, text, { validateStream: false }) : text

  const request = ({ method, route, status, durationMs, requestId, errorCode, reason, aborted }: Fields): string => {
    const style = Number(status) >= 500 ? 'red' : Number(status) >= 400 ? 'yellow' : 'green'
    const why = [errorCode, reason && `(${reason})`, aborted && 'aborted'].filter(Boolean).join(' ')
    const parts = [`${method} ${route ?? '(no route)'}`, paint(style, String(status)), printable(why)]
    const rest = paint('dim', `${durationMs} ms ${printable(String(requestId).slice(-SHORT_ID))}`)
    return [...parts.filter((part) => part !== ''), rest].join(' ')
  }

  const message = (msg: unknown, fields: Fields): string =>
    [
      printable(String(msg)),
      ...Object.entries(fields).map(([name, value]) => paint('dim', `${name}=${shown(value)}`)),
    ].join(' ')

  const stackOf = (err: unknown): string => {
    const { stack, message } = (err ?? {}) as { readonly stack?: string; readonly message?: string }
    const lines = (stack ?? message ?? '').split('\n').filter((line) => line !== '')
    return lines.map((line) => `  ${paint('dim', printable(line))}\n`).join('')
  }

  return (json) => {
    const { level, time, msg, err, ...fields } = JSON.parse(json)
    const [name, style] = LEVELS[level] ?? [String(level), 'dim']
    const head = `${paint('dim', new Date(time).toTimeString().slice(0, 8))} ${paint(style, name.padEnd(5))}`
    return `${head} ${msg === 'request' ? request(fields) : message(msg, fields)}\n${stackOf(err)}`
  }
}

const shown = (value: unknown): string =>
  printable(typeof value === 'string' && !/\s/.test(value) ? value : JSON.stringify(value))

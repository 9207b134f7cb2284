import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'vitest'
import { contractViolation, headerViolation } from '../docs/contract.ts'

/** Sends bytes as they are and reads until the server closes the connection. */
export function exchange(url: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(bytes, 'latin1')
  return text(socket)
}

export interface RawAnswer {
  readonly status: number
  /** In lower case. */
  readonly head: string
  readonly body: {
    readonly errorCode?: string
    readonly requestId?: string
    readonly data?: { readonly ReceiptID: string }
  }
}

/** The answers of one connection, in order; an answer without a body has an empty one. */
export function parseAnswers(bytes: string): RawAnswer[] {
  return bytes
    .split(/(?=HTTP\/1\.1 \d{3} )/)
    .filter((answer) => answer !== '')
    .map((answer) => {
      const [head = '', text = ''] = answer.split('\r\n\r\n')
      const status = Number(head.split(' ')[1])
      const body = JSON.parse(text || '{}')
      if (text !== '') {
        expect(contractViolation('', '', status, body)).toBeUndefined()
        const lines = head.split('\r\n').slice(1)
        const sent = Object.fromEntries(
          lines.map((line) => line.split(/: (.*)/, 2)).map(([name = '', value]) => [name.toLowerCase(), value]),
        )
        // The Allow of CONNECT is empty, and a balancer that refuses a method knows none.
        if (status !== 405) expect(headerViolation('', '', status, sent)).toBeUndefined()
        expect(text.endsWith('}\n')).toBe(true)
      }
      return { status, head: head.toLowerCase(), body }
    })
}

import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { checkPart } from './checked-fetch.ts'

export interface UploadAnswer {
  readonly Line: number | null
  readonly success: boolean
  readonly errorCode?: string
  readonly message: string
  readonly errors?: unknown
  readonly data: { readonly ReceiptID: string; readonly OrderID?: string; readonly Duplicate: boolean } | null
}

/** Opens an upload. `send` resolves when there is room for more; `answers` are what has come so far. */
export function openUpload(url: string, key: string, headers: Record<string, string> = {}, query = '') {
  const sent = request(`${url}/Purchase/updates${query}`, {
    method: 'POST',
    agent: false,
    headers: { ApiKey: key, ...headers },
  })
  const answers: UploadAnswer[] = []
  let rest = ''
  const done = new Promise<{ status: number; error?: { errorCode: string }; answers: UploadAnswer[] }>(
    (resolve, reject) => {
      sent.on('error', reject)
      sent.on('response', async (response) => {
        const status = response.statusCode ?? 0
        if (status !== 200) {
          resolve({ status, error: (await json(response)) as { errorCode: string }, answers })
          return
        }
        response.setEncoding('utf8').on('data', (text: string) => {
          const lines = (rest + text).split('\n')
          rest = lines.pop() ?? ''
          answers.push(...lines.map((line) => JSON.parse(line)))
        })
        response.on('end', () =>
          Promise.all(answers.map((answer) => checkPart('AnswerToLine', answer))).then(
            () => resolve({ status, answers }),
            reject,
          ),
        )
        response.on('error', reject)
      })
    },
  )
  done.catch(() => undefined)
  return { sent, answers, done }
}

/** Sends a whole file. */
export async function upload(
  url: string,
  key: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
  query = '',
) {
  const { sent, done } = openUpload(url, key, headers, query)
  sent.end(body)
  return done
}

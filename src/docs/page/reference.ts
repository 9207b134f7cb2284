import type { operatorsPage, referencePage } from '../contract/page.ts'

type Sent = ReturnType<typeof operatorsPage>
export type Reference = Awaited<ReturnType<typeof loadReference>>
export type Operation = Reference['operations'][number]
export type Answer = Operation['answers'][number]
export type Row = Operation['parameters'][number]
export type Errors = Reference['errors']

export async function load(path: string): Promise<Response> {
  const answer = await fetch(path)
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`)
  return answer
}

/** Puts in what operations share and only name the place of. */
function withShared({ rows, codeLists, invalidRequests, operations, errors }: Sent) {
  const rowsAt = (places: readonly number[]) => places.flatMap((place) => rows[place] ?? [])
  return {
    errors,
    operations: operations.map(({ parameters, answers, refusals, invalidRequest = -1, ...operation }) => ({
      ...operation,
      parameters: rowsAt(parameters),
      answers: answers.map((answer) => ({ ...answer, fields: rowsAt(answer.fields) })),
      refusals: refusals.map(([status, place]) => ({ status, codes: codeLists[place] ?? [] })),
      invalidRequest: invalidRequests[invalidRequest],
    })),
  }
}

export async function loadReference() {
  const sent: ReturnType<typeof referencePage> = await (await load('/docs/reference.json')).json()
  return { ...sent, ...withShared(sent) }
}

export async function loadOperators() {
  const sent: Sent = await (await load('/docs/operators.json')).json()
  return withShared(sent)
}

import { tryForm } from './form.ts'
import type { Answer, Errors, Operation, Row } from './reference.ts'
import { breakable, h, inline, markdown, shown } from './text.ts'

function credentialsOf({ needs, mayHave }: Operation): string {
  const named = (list: readonly string[]) =>
    list.map((name) => (name === 'ApiKey' ? 'an ApiKey' : 'a bearer token')).join(' and ')
  if (needs.length === 0) return 'Needs no credentials'
  return `Needs ${named(needs)}${mayHave.length > 0 ? `; ${named(mayHave)} is optional` : ''}`
}

/** One row per field: name, type, and required or optional. */
function fieldTable(caption: string, fields: readonly Row[]) {
  if (fields.length === 0) return undefined
  const row = (field: Row) =>
    h(
      'tr',
      {},
      h(
        'th',
        { scope: 'row', class: `depth${field.depth ?? 0}` },
        h('code', { class: 'name' }, field.name),
        h('small', {}, field.type, field.required && ', required', field.optional && ', may be absent'),
      ),
      h(
        'td',
        {},
        inline(field.description ?? ''),
        field.fallback !== undefined && h('small', {}, `Default: ${field.fallback}`),
      ),
    )
  return h('table', { class: 'fields' }, h('caption', {}, caption), h('tbody', {}, ...fields.map(row)))
}

const PLACES = { path: 'Path', query: 'Query', header: 'Headers' }

const parameterTables = (parameters: readonly Row[]) =>
  Object.entries(PLACES).map(([place, caption]) =>
    fieldTable(
      caption,
      parameters.filter((parameter) => parameter.in === place),
    ),
  )

function errorTable(caption: string, refusals: Operation['refusals'], errors: Errors) {
  const row = (code: string) => h('div', {}, h('code', {}, breakable(code)), h('span', {}, errors[code]?.message))
  const rows = refusals.map(({ status, codes }) =>
    h('tr', {}, h('th', { scope: 'row' }, status), h('td', {}, ...codes.map(row))),
  )
  return h('table', { class: 'errors' }, h('caption', { class: 'visually-hidden' }, caption), h('tbody', {}, ...rows))
}

function errorsOf({ refusals, invalidRequest, summary }: Operation, errors: Errors) {
  const only = (rare: boolean) =>
    refusals
      .map(({ status, codes }) => ({
        status,
        codes: codes.filter((code) => (errors[code]?.rare ?? false) === rare),
      }))
      .filter(({ codes }) => codes.length > 0)
  const [common, rare] = [only(false), only(true)]
  const count = rare.flatMap(({ codes }) => codes).length
  return [
    h('h4', {}, 'Errors'),
    common.length > 0 && errorTable(`Errors of: ${summary}`, common, errors),
    h('details', {}, h('summary', {}, `${count} rare errors`), errorTable(`Rare errors of: ${summary}`, rare, errors)),
    invalidRequest !== undefined &&
      h('details', {}, h('summary', {}, 'Example of an invalid request'), h('pre', {}, shown(invalidRequest))),
  ]
}

const answerTable = ({ status, type, description, fields, enveloped }: Answer) => [
  h('h4', {}, `${status} `, h('span', {}, description), type !== 'application/json' && [' ', h('code', {}, type)]),
  fieldTable(enveloped ? 'Fields of data' : 'Fields', fields),
]

export function operationSection(operation: Operation, errors: Errors) {
  const { id, method, path, summary, description, parameters, body, answers } = operation
  return h(
    'section',
    { class: 'operation', id, 'aria-labelledby': `${id}-title` },
    h('h3', { id: `${id}-title` }, h('a', { href: `#${id}` }, summary)),
    h('p', { class: 'address' }, h('b', { class: method }, method), ' ', h('code', {}, breakable(path))),
    h(
      'div',
      { class: 'explained' },
      ...markdown(description),
      h('p', { class: 'needs' }, credentialsOf(operation)),
      ...parameterTables(parameters),
      body && fieldTable('Body', body.fields),
      body !== undefined && body.description !== '' && h('p', { class: 'note' }, body.description),
      ...answers.flatMap(answerTable),
    ),
    h(
      'div',
      { class: 'tried' },
      h('h4', {}, 'Try it'),
      tryForm(operation),
      ...answers.flatMap(({ status, type, example }) => [
        h('h4', {}, `Example: ${status}`, type !== 'application/json' && ` as ${type}`),
        h('pre', {}, shown(example)),
      ]),
    ),
    h('div', { class: 'refused' }, ...errorsOf(operation, errors)),
  )
}

import { finished, Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { preferredType } from '#src/http/answers/accept.ts'
import {
  ENDINGS,
  EXPORT_TYPES,
  type ExportType,
  entriesIn,
  entriesOf,
  type ListPage,
  linesOf,
} from '#src/http/answers/exports.ts'
import { keepUncompressed } from '#src/http/answers/read-answers.ts'
import { success } from '#src/http/envelope.ts'
import { httpErrors } from '#src/http/http.errors.ts'
import { AppError } from '#src/lib/app-error.ts'
import { once } from '#src/lib/shared-work.ts'

/** What an export changes in the query of a page. */
interface Place {
  readonly cursor?: string
  readonly limit?: number
}

type ReadPage = (place: Place) => Promise<ListPage>

declare module 'fastify' {
  interface FastifyInstance {
    /** Answers with a page of a list; or with all of it, as a file, if an operator asks for one. The route's schema is `exportable`. */
    answerList: <Page extends ListPage>(
      request: FastifyRequest,
      reply: FastifyReply,
      page: (place: Place) => Promise<Page>,
    ) => Promise<ReturnType<typeof success<Page>>>
  }
}

const PAGE_ENTRIES = 100
/** The limit of a process: an export uses the threads that read for the feed and webhooks, too. */
const MAX_EXPORTS = 4
const MAX_EXPORTS_OF_ONE = 2
const RETRY_SECONDS = 10

/** Parameters that the audit log may keep. It says of others only that they were given: they may be what has to be forgotten later. */
const KEPT = ['status', 'code', 'action', 'key', 'keyId', 'duplicate', 'role', 'enabled', 'from', 'to', 'order']
/** An id, code, action, word or time. Another text may be a key that was pasted into the wrong field. */
const KEPT_VALUE = /^(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[A-Z_]{1,60}|[a-z.-]{1,60}|[\dTZ:.+-]{1,40})$/

const plugin: FastifyPluginAsync = async (app) => {
  const closing = new AbortController()
  /** The id of an operator for each export that is under way. */
  const running: string[] = []
  app.addHook('preClose', async () => closing.abort())

  const exportAll = async (
    request: FastifyRequest,
    reply: FastifyReply,
    type: ExportType,
    page: ReadPage,
    release: () => void,
  ): Promise<FastifyReply> => {
    const { customer, ...filters } = request.query as Readonly<Record<string, string | undefined>>
    const customerId = customer === undefined ? null : await app.customerIdOf(customer)
    // What cannot be listed is refused before anything is sent.
    const first = await page({ limit: PAGE_ENTRIES })
    const { name, columns } = entriesOf(request.routeOptions.schema)
    const { head, line } = linesOf(type, columns)
    const record = app.recordFor(request)
    const about = { list: name.toLowerCase(), format: ENDINGS[type], ...filterOf(filters) }
    // Nothing leaves that the audit log does not know of, even if this process is killed meanwhile.
    await record('data.export', customerId, about)
    const { ended, forget } = app.accessWatch.watch(request.access, { inSession: true })
    const cutting = AbortSignal.any([ended, closing.signal])
    const cut = (): void => void reply.raw.destroy()
    if (cutting.aborted) cut()
    else cutting.addEventListener('abort', cut)
    let rows = 0
    let complete = false

    const over = once(async () => {
      release()
      forget()
      cutting.removeEventListener('abort', cut)
      await record('data.export', customerId, { ...about, rows, complete }).catch((error: unknown) =>
        request.log.warn({ err: error, rows, complete }, 'the end of an export is not in the audit log'),
      )
    })

    async function* pages() {
      yield head
      for (let read = first; ; ) {
        const entries = entriesIn(read, name)
        rows += entries.length
        yield entries.map(line).join('')
        if (read.NextCursor === null) break
        const begun = performance.now()
        read = await page({ limit: PAGE_ENTRIES, cursor: read.NextCursor })
        // Half of the time is for others.
        await setTimeout(performance.now() - begun)
      }
      complete = true
      await over()
    }

    // Also if the client has left while the first page was read.
    finished(reply.raw, over)
    request.isStream = true
    keepUncompressed(reply)
    reply.type(`${type}; charset=utf-8`)
    reply.header('content-disposition', `attachment; filename="${name.toLowerCase()}.${ENDINGS[type]}"`)
    return reply.send(Readable.from(pages()))
  }

  app.decorate('answerList', async (request, reply, page) => {
    const isFile = request.method === 'GET' && request.access?.rights.has('operate')
    const type = isFile ? preferredType(EXPORT_TYPES, request.headers.accept) : undefined
    if (type === undefined) return success(await page({}))
    const who = request.access?.customer.id ?? ''
    if (running.length >= MAX_EXPORTS || running.filter((each) => each === who).length >= MAX_EXPORTS_OF_ONE)
      throw new AppError(httpErrors.exportsFull, { retryAfterSeconds: RETRY_SECONDS })
    running.push(who)
    const release = once(() => running.splice(running.indexOf(who), 1))
    return exportAll(request, reply, type, page, release).catch((error) => {
      release()
      throw error
    }) as never
  })
}

function filterOf({ limit: _, cursor: _cursor, ...filters }: Readonly<Record<string, unknown>>) {
  const given = Object.entries(filters).map(([name, value]) => {
    const isKept = KEPT.includes(name) && KEPT_VALUE.test(String(value))
    return `${name} ${isKept ? value : 'given'}`
  })
  return given.length > 0 && { filter: given.join(', ') }
}

export const exportsPlugin = fastifyPlugin(plugin, {
  name: 'exports',
  dependencies: ['token', 'audit', 'customer-ids'],
})

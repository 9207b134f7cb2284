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
/** Of this process: what reads a list from end to end shares the threads that read with the feed and webhooks. */
const MAX_EXPORTS = 4
const RETRY_SECONDS = 10

/** Parameters that the audit log may keep. It says of others only that they were given: they may be what has to be forgotten later. */
const KEPT = ['status', 'code', 'action', 'key', 'keyId', 'duplicate', 'role', 'enabled', 'from', 'to', 'order']

const plugin: FastifyPluginAsync = async (app) => {
  const closing = new AbortController()
  let running = 0
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
    const { ended, forget } = app.accessWatch.watch(request.access)
    const cutting = AbortSignal.any([ended, closing.signal])
    const cut = (): void => void reply.raw.destroy()
    cutting.addEventListener('abort', cut)
    let rows = 0
    let complete = false

    const over = once(async () => {
      release()
      forget()
      cutting.removeEventListener('abort', cut)
      const details = { list: name.toLowerCase(), format: ENDINGS[type], rows, complete, ...filterOf(filters) }
      await app.recordFor(request)('data.export', customerId, details)
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
    if (running >= MAX_EXPORTS) throw new AppError(httpErrors.exportsFull, { retryAfterSeconds: RETRY_SECONDS })
    running++
    const release = once(() => running--)
    return exportAll(request, reply, type, page, release).catch((error) => {
      release()
      throw error
    }) as never
  })
}

function filterOf({ limit: _, cursor: _cursor, ...filters }: Readonly<Record<string, unknown>>) {
  const given = Object.entries(filters).map(([name, value]) => `${name} ${KEPT.includes(name) ? value : 'given'}`)
  return given.length > 0 && { filter: given.join(', ') }
}

function once<Result>(call: () => Result): () => Result | undefined {
  let isCalled = false
  return () => {
    if (isCalled) return undefined
    isCalled = true
    return call()
  }
}

export const exportsPlugin = fastifyPlugin(plugin, {
  name: 'exports',
  dependencies: ['token', 'audit', 'customer-ids'],
})

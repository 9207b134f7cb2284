import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { createLineSplitter, type Line } from '#src/lib/lines/line-splitter.ts'
import { createOrderedAnswers } from '#src/lib/lines/ordered-answers.ts'
import { requestErrors } from '#src/lib/request/request.errors.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { DeliveryOrigin, Receipt, Sequence } from '#src/store/store.ts'
import type { DeliveryReader, ParsedDelivery } from '../delivery-body.ts'
import type { Supplier } from '../suppliers.ts'
import type { Intake, Outcome } from './intake.rule.ts'
import type { Allowance, TakeAllowance } from './rate-limit.ts'
import { KEY_PATH, type LineReader } from './upload-line.ts'

export interface UploadDependencies {
  readonly intake: Intake
  readonly reader: Pick<DeliveryReader, 'parse'>
  readonly readLine: LineReader
  readonly bodyLimitBytes: number
  readonly takeAllowance: TakeAllowance
  /** Whether the store can take more than the deliveries of others. */
  readonly storeHasCapacity: () => boolean
  readonly patienceMilliseconds: number
  readonly clock: Clock
}

/** The request of an upload, and its answer. */
export interface UploadConnection {
  readonly origin: DeliveryOrigin
  /**
   * Resolves to the next piece; undefined at the end. Rejects with the reason for which the upload must end, if it must. `pending`
   * bytes are held of line `number`, which has not ended.
   */
  next(pending: number, number: number): Promise<Buffer | undefined>
  /** Throws that reason. */
  check(): void
  /** Sets it, unless there is one already. */
  endFor(error: AppError): void
  /** Whether the client has disconnected. */
  isGone(): boolean
  /** Resolves after that time, or earlier if the upload must end. */
  pause(milliseconds: number): Promise<void>
  write(text: string): boolean | Promise<boolean>
  /** Disconnects the client. */
  cut(): void
  /** Ends the answer, with this line as its last one. */
  end(text: string): void
  /** Rejects with the refusal if the key is no longer valid. */
  identify(): Promise<Supplier>
  received(line: number, receipt: Receipt, delivery: ParsedDelivery): string
  validated(line: number, outcome: Outcome, delivery: ParsedDelivery): string
  /** `line` is null for what ends the upload; `body` is what the line delivers, if it was read. */
  refused(line: number | null, error: unknown, body?: Buffer): string
}

/** An order that has lines under way. None of them is stored after one that failed; then the upload ends. */
interface OpenOrder extends Sequence {
  readonly id: string
  lines: number
}

/** Deliveries under way, and answers that were not read, of one upload. */
const MAX_LINES = 256
const MAX_BYTES = 1024 * 1024
/** While all uploads together hold this many bytes, only an upload that holds none may read another line. */
const SOFT_LIMIT_BYTES = 16 * 1024 * 1024
/** While all uploads together hold this many bytes, no upload may read another line. */
const HARD_LIMIT_BYTES = 32 * 1024 * 1024
/** After this time a client that reads no answers may be disconnected, if others need the memory. */
const UNREAD_MILLISECONDS = 2000
/** What a line takes besides its bytes. */
const BYTES_OF_LINE = 512
/** What IdempotencyKey and its punctuation may add to a body. */
const WRAPPER_BYTES = 1024
const IDENTIFY_EVERY_MILLISECONDS = 100
const CAPACITY_POLL_MILLISECONDS = 10

/** Takes deliveries that are sent as lines, or only validates them, and answers each in their order. */
export function createUploads(dependencies: UploadDependencies) {
  const { intake, reader, readLine, bodyLimitBytes, takeAllowance, storeHasCapacity, patienceMilliseconds, clock } =
    dependencies
  let bytesOfAll = 0
  /** Clients that have not read what was written, in the order in which they stopped. */
  const unread = new Set<{ readonly since: number; readonly cut: () => void }>()

  const write = ({ write, cut }: UploadConnection, text: string): boolean | Promise<boolean> => {
    const written = write(text)
    if (typeof written === 'boolean') return written
    const entry = { since: clock.monotonic(), cut }
    unread.add(entry)
    return written.finally(() => unread.delete(entry))
  }
  /** Disconnects the client that has not read for the longest time, if there is too much to hold. */
  const cutSlowReader = (): void => {
    const [first] = unread
    if (bytesOfAll < SOFT_LIMIT_BYTES || first === undefined) return
    if (clock.monotonic() - first.since >= UNREAD_MILLISECONDS) first.cut()
  }

  return async (connection: UploadConnection, identified: Supplier, validates: boolean): Promise<void> => {
    const answers = createOrderedAnswers({
      maxPlaces: MAX_LINES,
      maxBytes: MAX_BYTES,
      write: (text) => write(connection, text),
      onBytes: (difference) => {
        bytesOfAll += difference
      },
    })
    const { origin } = connection
    let supplier = identified
    let identifiedAt = clock.monotonic()
    /** Why the key is refused from now on. */
    let refusal: unknown
    const orders = new Map<string, OpenOrder>()

    const waitUntil = async (isReady: () => boolean, milliseconds: number): Promise<void> => {
      const begun = clock.monotonic()
      while (!isReady() && !connection.isGone()) {
        connection.check()
        if (clock.monotonic() - begun > milliseconds) throw new AppError(storeErrors.overloaded)
        cutSlowReader()
        await connection.pause(CAPACITY_POLL_MILLISECONDS)
      }
    }
    const hasCapacity = (): boolean =>
      storeHasCapacity() && bytesOfAll < (answers.bytes() === 0 ? HARD_LIMIT_BYTES : SOFT_LIMIT_BYTES)
    const isDue = (): boolean => clock.monotonic() - identifiedAt >= IDENTIFY_EVERY_MILLISECONDS

    const identify = async (): Promise<void> => {
      try {
        supplier = await connection.identify()
        identifiedAt = clock.monotonic()
      } catch (error) {
        if (isFault(error)) throw error
        refusal = error
      }
    }

    /** Waits until another delivery may be made. */
    const getReady = async (): Promise<void> => {
      while (answers.isFull() && !connection.isGone()) await answers.changed()
      await waitUntil(hasCapacity, patienceMilliseconds)
      if (refusal === undefined && isDue()) await identify()
    }
    const waitForTurn = async (refused: Allowance): Promise<void> => {
      for (let turn: Allowance | undefined = refused; turn?.allowed === false; turn = takeAllowance(supplier.key)) {
        await connection.pause(turn.retrySeconds * 1000)
        connection.check()
        if (isDue()) await identify()
        if (refusal !== undefined || connection.isGone()) return
      }
    }
    const isReady = (): boolean => !answers.isFull() && hasCapacity() && (refusal !== undefined || !isDue())

    const bodyOf = ({ bytes }: Line): Buffer | undefined => {
      try {
        return bytes === null ? undefined : readLine(bytes).body
      } catch {
        return bytes ?? undefined
      }
    }
    const parse = ({ bytes }: Line): ParsedDelivery => {
      if (refusal !== undefined) throw refusal
      if (bytes === null) throw new AppError(requestErrors.bodyTooLarge)
      const { body, idempotencyKey } = readLine(bytes)
      if (body.length > bodyLimitBytes) throw new AppError(requestErrors.bodyTooLarge)
      return reader.parse(body, idempotencyKey, KEY_PATH)
    }

    const submit = (line: Line): void => {
      const { number } = line
      const write = answers.add(BYTES_OF_LINE + (line.bytes?.length ?? 0))
      let order: OpenOrder | undefined
      const answer = (text: string): void => {
        if (order !== undefined && --order.lines === 0) orders.delete(order.id)
        write(text)
      }
      const refuse = (error: unknown): void => {
        if (isFault(error)) connection.endFor(error)
        answer(connection.refused(number, error, bodyOf(line)))
      }
      try {
        const delivery = parse(line)
        order = validates ? undefined : orderOf(delivery)
        const answered = validates
          ? intake
              .validate(supplier, delivery, origin)
              .then((outcome) => connection.validated(number, outcome, delivery))
          : intake
              .deliver(supplier, delivery, origin, order)
              .then((receipt) => connection.received(number, receipt, delivery))
        answered.then(answer, refuse)
      } catch (error) {
        refuse(error)
      }
    }
    const orderOf = ({ orderId: id }: ParsedDelivery): OpenOrder | undefined => {
      if (id === null) return
      let order = orders.get(id)
      if (order === undefined) {
        order = { id, lines: 0, isUnderWay: false, failure: undefined }
        orders.set(id, order)
      }
      order.lines++
      return order
    }

    const takeAll = async (): Promise<void> => {
      const splitter = createLineSplitter(bodyLimitBytes + WRAPPER_BYTES)
      for (;;) {
        const piece = await connection.next(splitter.pending(), splitter.number())
        if (connection.isGone()) return
        for (const line of piece === undefined ? splitter.rest() : splitter.take(piece)) {
          if (!isReady()) await getReady()
          const turn = refusal === undefined ? takeAllowance(supplier.key) : undefined
          if (turn?.allowed === false) await waitForTurn(turn)
          if (connection.isGone()) return
          connection.check()
          submit(line)
        }
        if (piece === undefined) return
      }
    }

    let end = ''
    try {
      await takeAll()
    } catch (error) {
      end = connection.refused(null, error)
    }
    if (connection.isGone()) answers.drop()
    else await answers.written()
    connection.end(end)
  }
}

/** Whether the service cannot go on. A fault of a single delivery does not end the upload. */
const isFault = (error: unknown): error is AppError =>
  error instanceof AppError && (error.kind === 'unavailable' || error.kind === 'overloaded')

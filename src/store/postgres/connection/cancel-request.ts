import pg, { type ClientConfig } from 'pg'

/** Sends a cancel request, which the protocol wants on a new connection. The server closes that connection. */
export function requestCancel(
  settings: ClientConfig,
  { processID, secretKey }: { processID?: number; secretKey?: number },
) {
  const messenger = new pg.Client(settings)
  const wire = messenger.connection as unknown as {
    startup(): void
    cancel(processId: unknown, secretKey: unknown): void
  }
  wire.startup = () => wire.cancel(processID, secretKey)
  messenger.on('error', () => undefined)
  messenger.connect().catch(() => undefined)
}

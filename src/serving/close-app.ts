import type { App } from '#src/app.ts'

/** Answers requests in flight, takes no new ones, and cuts off what is not answered in time. */
export async function closeApp(app: App, milliseconds: number): Promise<void> {
  app.readiness.leave()
  const cutOff = setTimeout(() => {
    app.log.warn('requests still in flight are cut off')
    app.server.closeAllConnections()
  }, milliseconds)
  await app.close()
  clearTimeout(cutOff)
}

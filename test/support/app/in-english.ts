import { isMessage, textOf } from '#src/lib/messages/message.ts'

/** Details of an event, or an object like it, whose messages are texts in English. */
export const inEnglish = (details: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(details).map(([name, value]) => [name, isMessage(value) ? textOf(value) : value]))

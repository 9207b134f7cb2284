const names = new Map<string, string>()

/** One name for each text, by which a connection knows whether it has prepared it. */
export function nameOf(sql: string): string {
  const name = names.get(sql) ?? `statement_${names.size}`
  names.set(sql, name)
  return name
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return ((sorted[Math.floor((sorted.length - 1) / 2)] ?? 0) + (sorted[Math.ceil((sorted.length - 1) / 2)] ?? 0)) / 2
}

export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
}

export function printTable(heading: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = heading.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)))
  for (const row of [heading, ...rows])
    console.log(row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join('  '))
}

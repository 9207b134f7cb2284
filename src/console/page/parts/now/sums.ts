export const HOUR = 3_600_000

export const sumOf = (counts: Iterable<number>): number => Iterator.from(counts).reduce((sum, count) => sum + count, 0)

export const totalOf = ({ byStatus }: { readonly byStatus: readonly number[] }): number => sumOf(byStatus)

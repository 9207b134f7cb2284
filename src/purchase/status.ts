/** The meanings of the contract's Status values. */
export const STATUS_MEANINGS = ['canceled', 'updated', 'being processed', 'removed from processing'] as const

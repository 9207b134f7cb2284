/** What a route is called that stands twice: for suppliers, by their API key, and for callers with a token. */
export interface Door {
  readonly tag: 'Supplier' | 'Purchase'
  /** Begins the operation ids. */
  readonly id: string
  /** Ends the summaries. */
  readonly by: string
}

export const BY_KEY: Door = { tag: 'Supplier', id: 'supplier', by: ', by API key' }
export const BY_TOKEN: Door = { tag: 'Purchase', id: 'purchase', by: '' }

export const titleOf = ({ tag, id, by }: Door, operation: string, summary: string) => ({
  summary: `${summary}${by}`,
  operationId: `${id}${operation}`,
  tags: [tag],
})

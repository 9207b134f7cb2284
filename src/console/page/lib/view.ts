/** What a view is given: the parts of the address after its name, and the parameters. */
export interface ViewProperties {
  readonly parts: readonly string[]
  readonly parameters: Readonly<Record<string, string | undefined>>
}

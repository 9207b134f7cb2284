interface Named {
  readonly name: string
  readonly email: string
}

/** What people call a customer: `Kitap A.Ş. <shop@example.com>`, or only the address of one that has no name. */
export const displayName = ({ name, email }: Named): string => (name === '' ? email : `${name} <${email}>`)

/** Returns what people call each of these customers, by id. */
export const displayNames = (all: readonly (Named & { readonly id: string })[]): Map<string, string> =>
  new Map(all.map((one) => [one.id, displayName(one)]))

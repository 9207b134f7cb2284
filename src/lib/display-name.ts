interface Named {
  readonly name: string
  readonly email: string
}

type NamedCustomer = Named & { readonly id: string }

/** What people call a customer: `Kitap A.Ş. <shop@example.com>`, or only the address of one that has no name. */
export const displayName = ({ name, email }: Named): string => (name === '' ? email : `${name} <${email}>`)

/** Returns what people call each of these customers, by id. */
export const displayNames = (all: readonly NamedCustomer[]): Map<string, string> =>
  new Map(all.map((one) => [one.id, displayName(one)]))

/** Returns a function that adds to each answer what people call its customer, if that is wanted. All are looked up at once. */
export const naming =
  (find: (ids: readonly string[]) => Promise<readonly NamedCustomer[]>) =>
  async <Answer extends { readonly CustomerID: string | null }>(
    answers: Answer[],
    isWanted = true,
  ): Promise<(Answer & { Customer?: string })[]> => {
    const ids = new Set(answers.map(({ CustomerID }) => CustomerID).filter((id) => id !== null))
    if (!isWanted || ids.size === 0) return answers
    const names = displayNames(await find([...ids]))
    return answers.map((answer) => {
      const Customer = answer.CustomerID === null ? undefined : names.get(answer.CustomerID)
      return Customer === undefined ? answer : { ...answer, Customer }
    })
  }

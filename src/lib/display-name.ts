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

type FindNamed = (ids: readonly string[]) => Promise<readonly NamedCustomer[]>

/** Returns what people call these customers, by id. All are looked up at once. */
export async function namesOf(find: FindNamed, ids: readonly (string | null)[]): Promise<Map<string, string>> {
  const wanted = [...new Set(ids)].filter((id) => id !== null)
  return wanted.length === 0 ? new Map() : displayNames(await find(wanted))
}

/** Returns a function that adds to each answer what people call its customer, if that is wanted. */
export const naming =
  (find: FindNamed) =>
  async <Answer extends { readonly CustomerID: string | null }>(
    answers: Answer[],
    isWanted = true,
  ): Promise<(Answer & { Customer?: string })[]> => {
    if (!isWanted) return answers
    const names = await namesOf(
      find,
      answers.map(({ CustomerID }) => CustomerID),
    )
    return answers.map((answer) => {
      const Customer = names.get(answer.CustomerID ?? '')
      return Customer === undefined ? answer : { ...answer, Customer }
    })
  }

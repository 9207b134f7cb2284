/** What the server tells the page before anybody has signed in. */
interface Settings {
  readonly loginEmailField: string
  readonly bodyLimitBytes: number
  /** The addresses of the texts, by language. */
  readonly texts: Readonly<Record<string, string>>
}

export const settings: Settings = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name=settings]')?.content ?? '{}',
)

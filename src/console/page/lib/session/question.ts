import { signal } from '@preact/signals'

/** What somebody is asked while signed in: to stay, as the session ends soon, or for the password. */
export const question = signal<'idle' | 'end' | 'password' | undefined>(undefined)
let asked: PromiseWithResolvers<boolean> | undefined

/** Asks the one who is signed in for the password. Resolves to whether it was right. */
export function askPassword(): Promise<boolean> {
  question.value = 'password'
  asked ??= Promise.withResolvers()
  return asked.promise.finally(() => {
    asked = undefined
  })
}

/** Without the right password the one who is asked did not answer. */
export function endQuestion(isRight = false) {
  question.value = undefined
  asked?.resolve(isRight)
}

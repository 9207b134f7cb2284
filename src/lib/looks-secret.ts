/** The beginnings of API keys, of secrets of endpoints, and of tokens. */
const SECRET = /(?<![A-Za-z0-9])(?:tsl_|whsec_|eyJ)/

/** Whether a text has something that must not be sent where it is not needed, such as into a search. */
export const looksSecret = (text: string): boolean => SECRET.test(text)

/** Lower-cases A to Z and nothing else: no locale, no Unicode folding (the Kelvin sign stays itself). */
export const asciiLowerCase = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())

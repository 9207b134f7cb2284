/** Returns `1 delivery`, `2 deliveries` or `1,000 orders`. */
export const counted = (number: number, one: string, several = `${one}s`): string =>
  `${number.toLocaleString('en')} ${number === 1 ? one : several}`

/** A time as people read it, in UTC. */
export const timeText = (milliseconds: number): string =>
  new Date(milliseconds).toISOString().slice(0, 19).replace('T', ' ')

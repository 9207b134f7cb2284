/** Lets this process be in a time zone while `work` runs. */
export async function inTimeZone<Result>(zone: string, work: () => Result | Promise<Result>): Promise<Result> {
  const before = process.env.TZ
  process.env.TZ = zone
  try {
    return await work()
  } finally {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
  }
}

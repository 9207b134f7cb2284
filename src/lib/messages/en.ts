import { erasures } from './en/erasures.ts'
import { findings } from './en/findings.ts'
import { refusals } from './en/refusals.ts'

/**
 * What the service says, by code. A place such as `{host}` stands for a value; `{count:hour|hours}` for a number and the word behind it,
 * `{at:time}` and `{on:day}` for a time, `{free:size}` for bytes, `{names:list}` for a list with commas, `{keys:list;}` for one with
 * semicolons.
 */
export const english = { ...findings, ...refusals, ...erasures }

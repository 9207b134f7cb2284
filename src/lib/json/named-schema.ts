import { type ObjectOptions, type TProperties, Type } from '@sinclair/typebox'

/** An object that is a named type in the contract and in clients made from it: its title is the name. */
export const named = <Fields extends TProperties>(title: string, fields: Fields, options: ObjectOptions = {}) =>
  Type.Object(fields, { title, ...options })

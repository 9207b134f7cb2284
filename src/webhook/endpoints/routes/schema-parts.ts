import { Type } from '@sinclair/typebox'

export const ENDPOINT_ID = '01a1fd42-7c3e-7d10-9b2a-6c1e5f0a4d77'
export const URL_EXAMPLE = 'https://backoffice.example/webhooks'

export const Status = Type.Integer({ minimum: 0, maximum: 3, examples: [3] })
export const ERROR = 'connection refused'

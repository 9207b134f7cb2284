import Fastify from 'fastify'
import { loadConfig } from '#src/config/load-config.ts'
import { successSchema } from '#src/http/envelope.ts'
import { LoginHeadersSchema, loginAnswerSchema, loginBodySchema } from '#src/login/login.schema.ts'

/** Fastify with the same schemas for a login, and nothing else: it knows no customer and signs nothing. */
const app = Fastify()
const schema = {
  headers: LoginHeadersSchema,
  body: loginBodySchema('Email'),
  response: { 200: successSchema(loginAnswerSchema(loadConfig({}).config), '') },
}
const TOKEN = 'x'.repeat(420)

app.post<{ Body: { callbackData?: string } }>('/Login/Customer/Api/Verify', { schema }, async ({ body }) => ({
  data: { Token: TOKEN, Expiration: '2026-11-21T12:00:00Z', callbackData: body.callbackData },
  success: true,
  message: 'OK',
}))

console.log(`listening on ${await app.listen({ host: '127.0.0.1', port: 0 })}"`)

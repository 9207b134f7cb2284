import { expect, inject, it, onTestFinished } from 'vitest'
import { openConnection, type Server } from '#src/store/postgres/connection/connection.ts'
import { serversOf } from '#src/store/postgres/connection/server-list.ts'
import { newDatabase } from '../support/postgres/postgres-server.ts'

it.each([false, true])(
  'a connection (pipelined: %s) takes any number of queries at once, in their order',
  async (pipelined) => {
    const [address] = serversOf(await newDatabase(inject('postgresUrl')))
    const ignore = () => undefined
    const server = { address, sessions: new Set(), answers: 0, unansweredAt: 0, hasTimeline: true, onGone: ignore }
    const connection = await openConnection(
      { ...server, leave: ignore, onLate: ignore, stillHas: async () => false } as unknown as Server,
      { timeoutSeconds: 10, pipelined },
    )
    onTestFinished(() => connection.close())
    const warnings: Error[] = []
    const note = (warning: Error) => void warnings.push(warning)
    process.on('warning', note)
    onTestFinished(() => void process.off('warning', note))

    const order: number[] = []
    const asked = Array.from({ length: 20 }, async (_, number) => {
      const { rows } = await connection.query('SELECT $1::int AS number', [number])
      order.push(rows[0].number)
    })
    await Promise.all(asked)
    expect(order).toEqual(Array.from({ length: 20 }, (_, number) => number))
    await expect(connection.query('SELECT 1 / $1::int', [0])).rejects.toThrow('division by zero')
    const [failed, next] = await Promise.allSettled([
      connection.query('SELECT 1 / $1::int', [0]),
      connection.query('SELECT $1::int AS number', [1]),
    ])
    expect([failed.status, next.status]).toEqual(['rejected', 'fulfilled'])
    expect(warnings).toEqual([])
  },
)

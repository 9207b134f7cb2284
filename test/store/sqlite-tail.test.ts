import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type Database, openDatabase } from '#src/store/sqlite/database.ts'
import { createTail, type Tail } from '#src/store/sqlite/deliveries/block-walk.ts'
import { finish } from '#src/store/sqlite/nouns.ts'
import { createStoreWith } from '../support/store/create-store.ts'
import { customer } from '../support/store/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

const INSERT = `
  INSERT INTO delivery (position, receipt, customer, status, received_at, payload)
  SELECT value ->> 0, randomblob(16), value ->> 1, 0, 0, x'7b7d' FROM json_each($1)`

it('each walk reads the latest deliveries that came since the one before, and no others', async () => {
  const path = join(tempFolder(), 'tail.db')
  await createStoreWith(`sqlite:${path}`, [customer(), customer()])
  const writing = openDatabase(path)
  const reading = openDatabase(path, { readOnly: true })
  let read = 0
  const ask: Database['ask'] = (sql, values) => {
    const answer = reading.ask(sql, values)
    read += answer.count
    return answer
  }
  const database = { ...reading, ask }
  const tail = createTail()
  const insert = (...rows: [position: number, customer: number][]) => writing.run(INSERT, JSON.stringify(rows))
  const find = (...args: Parameters<Tail>) => {
    read = 0
    return [finish(database, tail(...args)), read]
  }

  insert([1, 1], [2, 2], [3, 1], [6, 1])
  expect(find(1, 1, 6, 9)).toEqual([[6, 3, 1], 4])
  expect(find(2, 1, 6, 9)).toEqual([[2], 0])
  insert([7, 2], [9, 1])
  expect(find(1, 1, 9, 9)).toEqual([[9, 6, 3, 1], 2])
  expect(find(1, 1, 9, 2)).toEqual([[9, 6], 0])
  expect(find(1, 3, 8, 9)).toEqual([[6, 3], 0])
  // A list that began earlier, when fewer were in blocks.
  expect(find(1, 2, 9, 9)).toEqual([[9, 6, 3], 5])
  expect(find(2, 50, 60, 9)).toEqual([[], 0])
  writing.close()
  reading.close()
})

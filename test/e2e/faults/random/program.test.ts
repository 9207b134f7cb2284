import { expect, it } from 'vitest'
import { complaintsOf, createJudge, createLedger, judgeReceipts, judgeStored, judgeUpload } from './judge.ts'
import { rounds } from './schedule.ts'
import type { StoreKind } from './site.ts'

const delivered = (...receipts: string[]) => {
  const judge = createJudge()
  for (const [n, receipt] of receipts.entries()) judge.acknowledge(receipt, { order: 'PO', n })
  return judge
}

it('a delivery that is lost, not acknowledged, repeated or out of order is a problem, and nothing else is', () => {
  const found = (got: readonly (readonly [string, number])[]): number => {
    const judge = delivered('a', 'b', 'c')
    const ledger = createLedger('somebody', judge)
    for (const [receipt, n] of got) ledger.take(receipt, { order: 'PO', n })
    judgeStored(ledger, judge)
    judgeReceipts('somebody', ledger.receipts, ['a', 'b', 'c'], judge)
    return judge.problems.length
  }
  expect(
    found([
      ['a', 0],
      ['b', 1],
      ['c', 2],
    ]),
  ).toBe(0)
  expect(
    found([
      ['a', 0],
      ['b', 1],
    ]),
  ).toBe(2)
  expect(
    found([
      ['a', 0],
      ['c', 2],
    ]),
  ).toBe(3)
  expect(
    found([
      ['a', 0],
      ['b', 1],
      ['b', 1],
      ['c', 2],
    ]),
  ).toBe(2)
  expect(
    found([
      ['b', 1],
      ['a', 0],
      ['c', 2],
    ]),
  ).toBe(4)
  expect(
    found([
      ['a', 0],
      ['b', 1],
      ['c', 2],
      ['d', 3],
    ]),
  ).toBe(2)
})

it('a line of an upload that has a receipt although an earlier one of its order has none is a problem', () => {
  const lines = [
    { order: 'A', n: 0 },
    { order: 'B', n: 0 },
    { order: 'A', n: 1 },
    { order: 'B', n: 1 },
  ]
  const found = (...receipts: (string | undefined)[]): readonly string[] => {
    const judge = createJudge()
    judgeUpload(lines, receipts, judge)
    return judge.problems
  }
  expect([found('a', 'b', 'c', 'd'), found('a', 'b', undefined, 'd'), found('a', 'b')]).toEqual([[], [], []])
  expect(found('a', undefined, 'c')).toEqual([])
  expect(found(undefined, 'b', 'c', 'd')).toEqual([
    expect.stringContaining('A/1 got a receipt in the upload in which A/0 got none'),
  ])
})

it('a problem says which faults were on', () => {
  const judge = delivered('a')
  judge.begin('a full disk')
  judge.acknowledge('a', { order: 'PO', n: 1 })
  expect(judge.problems).toEqual([
    expect.stringMatching(/^after \d+\.\d s, during a full disk: PO\/1 got receipt a, which is that of PO\/0$/),
  ])
})

it('a log may say that the store was lost, and neither a 500 nor an end that nobody asked for', () => {
  const lines = [
    '{"level":50,"msg":"store lost"}',
    '{"level":50,"msg":"request failed"}',
    '{"level":60,"msg":"the store is no longer the one that was opened"}',
    'Error: something',
    'teslim serve: its disk is full',
    '{"lev',
  ]
  const log = lines.join('\n')
  expect(complaintsOf(log, { started: true })).toEqual(lines.slice(1, 5))
  expect(complaintsOf(log, { started: false })).toEqual(lines.slice(1, 4))
})

it.each<StoreKind>(['sqlite', 'postgres'])(
  'the faults of %s are the same for the same seed, and none is forgotten',
  (store) => {
    const disk = { path: '/', free: () => 0, fill() {}, clear() {}, resize() {}, readOnly() {} }
    const draw = () =>
      rounds({ store, disk })
        .take(40)
        .toArray()
        .map(({ planned, ...round }) => ({
          ...round,
          planned: planned.map(({ fault, delay, lasts }) => [fault.name, delay, lasts]),
        }))
    const drawn = draw()
    expect(draw()).toEqual(drawn)
    const counts = Object.groupBy(
      drawn.flatMap(({ planned }) => planned.map(([name]) => name)),
      String,
    )
    expect(Object.keys(counts).length).toBeGreaterThan(10)
    for (const times of Object.values(counts)) expect(times?.length).toBeGreaterThan(1)
  },
)

/** Values by the time at which they are due, the earliest first. */
export interface DueHeap<Value> {
  push(dueAt: number, value: Value): void
  /** Undefined if the heap is empty. */
  peek(): { readonly dueAt: number; readonly value: Value } | undefined
  pop(): void
  clear(): void
}

interface Node<Value> {
  readonly dueAt: number
  readonly value: Value
}

export function createDueHeap<Value>(): DueHeap<Value> {
  const nodes: Node<Value>[] = []
  const dueAt = (index: number): number => nodes[index]?.dueAt ?? Number.POSITIVE_INFINITY

  const swap = (one: number, other: number): void => {
    const node = nodes[one] as Node<Value>
    nodes[one] = nodes[other] as Node<Value>
    nodes[other] = node
  }

  return {
    push(at, value) {
      let index = nodes.push({ dueAt: at, value }) - 1
      while (index > 0) {
        const parent = (index - 1) >> 1
        if (dueAt(parent) <= at) break
        swap(index, parent)
        index = parent
      }
    },
    peek: () => nodes[0],
    pop() {
      const last = nodes.pop()
      if (last === undefined || nodes.length === 0) return
      nodes[0] = last
      for (let index = 0; ; ) {
        const left = 2 * index + 1
        const least = dueAt(left + 1) < dueAt(left) ? left + 1 : left
        if (dueAt(least) >= last.dueAt) break
        swap(index, least)
        index = least
      }
    },
    clear: () => void nodes.splice(0),
  }
}

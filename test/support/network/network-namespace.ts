import { execFileSync } from 'node:child_process'

/** A network of its own for a process, joined to ours by one cable. */
export interface NetworkNamespace {
  readonly name: string
  /** Our end of the cable, and theirs. */
  readonly here: string
  readonly there: string
  /** Drops everything from and to a port of ours, without a word. */
  cut(port: number): void
  mend(): void
  /** Passes no more on to it than so many bits a second. */
  slow(bitsPerSecond: number): void
  remove(): void
}

const run = (command: string, ...args: string[]) => execFileSync(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })

/** Why there can be none here; undefined if there can. */
export function whyNoNamespace(): string | undefined {
  if (process.platform !== 'linux') return 'it is not Linux'
  if (process.getuid?.() !== 0) return 'it needs root'
  const name = `teslim-try-${process.pid}`
  try {
    run('ip', 'netns', 'add', name)
    try {
      run('ip', 'netns', 'exec', name, 'iptables', '-L')
    } finally {
      run('ip', 'netns', 'del', name)
    }
    return undefined
  } catch (error) {
    return (error as Error).message.split('\n')[0]
  }
}

/** The same for one that is slow. */
export function whyNoSlowNetwork(): string | undefined {
  const why = whyNoNamespace()
  if (why !== undefined) return why
  const namespace = makeNamespace()
  try {
    namespace.slow(1_000_000)
    return undefined
  } catch (error) {
    return (error as Error).message.split('\n')[0]
  } finally {
    namespace.remove()
  }
}

export function makeNamespace(): NetworkNamespace {
  const name = `teslim-${process.pid}`
  const [hereEnd, thereEnd] = [`tsl${process.pid}a`, `tsl${process.pid}b`].map((end) => end.slice(-15)) as [
    string,
    string,
  ]
  const net = `10.213.${process.pid % 256}`
  const [here, there] = [`${net}.1`, `${net}.2`]
  const inside = (...command: string[]) => run('ip', 'netns', 'exec', name, ...command)
  run('ip', 'netns', 'add', name)
  run('ip', 'link', 'add', hereEnd, 'type', 'veth', 'peer', 'name', thereEnd)
  run('ip', 'link', 'set', thereEnd, 'netns', name)
  run('ip', 'addr', 'add', `${here}/30`, 'dev', hereEnd)
  run('ip', 'link', 'set', hereEnd, 'up')
  inside('ip', 'addr', 'add', `${there}/30`, 'dev', thereEnd)
  inside('ip', 'link', 'set', thereEnd, 'up')
  inside('ip', 'link', 'set', 'lo', 'up')
  return {
    name,
    here,
    there,
    cut(port) {
      inside('iptables', '-A', 'OUTPUT', '-p', 'tcp', '--dport', `${port}`, '-j', 'DROP')
      inside('iptables', '-A', 'INPUT', '-p', 'tcp', '--sport', `${port}`, '-j', 'DROP')
    },
    mend: () => void inside('iptables', '-F'),
    slow(bitsPerSecond) {
      run(
        'tc',
        'qdisc',
        'add',
        'dev',
        hereEnd,
        'root',
        'tbf',
        'rate',
        `${bitsPerSecond}`,
        'burst',
        '4k',
        'latency',
        '1s',
      )
    },
    remove: () => void run('ip', 'netns', 'del', name),
  }
}

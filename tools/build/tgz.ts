import { gzipSync } from 'node:zlib'
import { type Files, inOrder } from './files.ts'

/** As npm does: 1985, because some tools refuse 1970. */
const MODIFIED = 499_162_500

/** Packs files as `npm pack` does. The same files always become the same bytes. */
export function tgz(files: Files): Buffer {
  const parts = inOrder(files).flatMap(([path, bytes]) => [
    header(`package/${path}`, bytes.length, path.startsWith('bin/') ? 0o755 : 0o644),
    bytes,
    Buffer.alloc(-bytes.length & 511),
  ])
  const packed = gzipSync(Buffer.concat([...parts, Buffer.alloc(1024)]), { level: 9 })
  // The system that packed it.
  packed[9] = 255
  return packed
}

/** The header of a file in the ustar format. */
function header(path: string, size: number, mode: number): Buffer {
  const head = Buffer.alloc(512)
  if (Buffer.byteLength(path) > 100) throw new Error(`${path} is too long for a tar file`)
  const number = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, '0')}\0`
  head.write(path, 0)
  head.write(number(mode, 8) + number(0, 8) + number(0, 8) + number(size, 12) + number(MODIFIED, 12), 100)
  // The checksum counts itself as spaces.
  head.write('        0', 148)
  head.write('ustar\x0000', 257)
  head.write(
    `${number(
      head.reduce((sum, byte) => sum + byte, 0),
      7,
    )} `,
    148,
  )
  return head
}

//! Reads one session log as it lies on disk, plain or zstd, possibly cut off in its last line or frame.
//! Must never repair what it reads: a torn end is reported.

import * as zlib from 'node:zlib'

const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

/**
 * Read a log.
 * @param path its path, for the error message only.
 * @param bytes its bytes.
 * @returns `{ header, events: [{ type, seq }], lines, torn }`.
 */
export function readLog(path, bytes) {
  const { text, torn: tornFrame } = decode(path, bytes)
  const lines = text.split('\n')
  const tail = lines.pop()
  const records = lines.map((line) => JSON.parse(line))
  const header = records[0]?.type === 'session' ? records[0] : null
  const events = records.slice(header === null ? 0 : 1).map(({ type, seq }) => ({ type, seq }))
  return { header, events, lines: lines.length, torn: tornFrame || tail !== '' }
}

/** Frame after frame: the log is appended to, so an unreadable last frame is a write in progress. */
function decode(path, bytes) {
  if (!bytes.subarray(0, 4).equals(ZSTD_MAGIC)) return { text: bytes.toString('utf8'), torn: false }
  if (typeof zlib.zstdDecompressSync !== 'function') throw new Error(`${path} is zstd and this Node cannot read it: use a build with Node 22.15 or newer`)
  const parts = []
  for (let start = 0; start < bytes.length; ) {
    const decoded = frame(bytes, start)
    if (decoded === undefined) return { text: Buffer.concat(parts).toString('utf8'), torn: true }
    parts.push(decoded.content)
    start = decoded.end
  }
  return { text: Buffer.concat(parts).toString('utf8'), torn: false }
}

/** One frame; its end is the next place where the magic number makes the part before it decode. */
function frame(bytes, start) {
  for (let end = bytes.indexOf(ZSTD_MAGIC, start + 4); ; end = bytes.indexOf(ZSTD_MAGIC, end + 1)) {
    const stop = end < 0 ? bytes.length : end
    try {
      return { content: zlib.zstdDecompressSync(bytes.subarray(start, stop)), end: stop }
    } catch {
      if (end < 0) return undefined
    }
  }
}

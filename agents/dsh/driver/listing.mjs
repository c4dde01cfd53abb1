//! Lists directory trees as comparable data; used to show that a query changed nothing on disk.
//! Must never follow a symbolic link.

import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Every entry below some directories, sorted by path; a missing directory has none.
 * @param roots absolute directories.
 * @returns `[{ path, size, modified }]`, directories included (their size says nothing and is left out).
 */
export function listing(roots) {
  return roots.flatMap((root) => walk(root)).sort((left, right) => (left.path < right.path ? -1 : 1))
}

function walk(directory) {
  const entries = readEntries(directory)
  return entries.flatMap((entry) => {
    const path = join(directory, entry.name)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined) return []
    if (entry.isDirectory()) return [{ path, modified: stat.mtimeMs }, ...walk(path)]
    return [{ path, size: stat.size, modified: stat.mtimeMs }]
  })
}

function readEntries(directory) {
  try {
    return readdirSync(directory, { withFileTypes: true })
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
    throw error
  }
}

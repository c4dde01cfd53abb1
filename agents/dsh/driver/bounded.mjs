//! Turns any value into plain, bounded JSON; used for everything the driver writes.
//! Must never throw and never drop something silently: what was cut says how much.

// A bash result is cut by dsh itself at 64 000 bytes; a whole outcome line stays readable with these.
const LIMITS = { depth: 12, entries: 1000, characters: 65536 }

/**
 * Copy a value into plain JSON.
 * @param value anything, cycles and exotic objects included.
 * @returns a JSON value; `undefined` at the top becomes `null`.
 */
export function bounded(value, limits = LIMITS) {
  return copy(value, limits, 0, new Set()) ?? null
}

function copy(value, limits, depth, above) {
  switch (typeof value) {
    case 'string':
      return value.length <= limits.characters ? value : `${value.slice(0, limits.characters)}… (${value.length - limits.characters} more characters)`
    case 'number':
      return Number.isFinite(value) ? value : String(value)
    case 'boolean':
      return value
    case 'bigint':
      return `${value}n`
    case 'function':
    case 'symbol':
      return `[${typeof value}]`
    case 'undefined':
      return undefined
  }
  if (value === null) return null
  if (above.has(value)) return '[cycle]'
  if (depth === limits.depth) return '[deeper]'
  if (value instanceof Error) return { name: value.name, message: copy(value.message, limits, depth, above) }
  above.add(value)
  const result = Array.isArray(value) ? items(value, limits, depth, above) : members(value, limits, depth, above)
  above.delete(value)
  return result
}

function items(list, limits, depth, above) {
  const kept = list.slice(0, limits.entries).map((item) => copy(item, limits, depth + 1, above) ?? null)
  return list.length > limits.entries ? [...kept, `… (${list.length - limits.entries} more)`] : kept
}

function members(object, limits, depth, above) {
  const keys = Object.keys(object)
  const kept = {}
  for (const key of keys.slice(0, limits.entries)) {
    const member = copy(read(object, key), limits, depth + 1, above)
    if (member !== undefined) define(kept, key, member)
  }
  if (keys.length > limits.entries) kept['…'] = `${keys.length - limits.entries} more`
  return kept
}

/** A getter may throw; that is a finding, not a reason to lose the outcome. */
function read(object, key) {
  try {
    return object[key]
  } catch (error) {
    return `[unreadable: ${error?.message ?? error}]`
  }
}

/** An own key named `__proto__` must stay a key. */
function define(object, key, value) {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
}

//! What the operations of one list share: the context, the build's door, and everything given a name.
//! Created by `index.mjs`, and by the tests with a stub context. Must never be kept across lists.

/**
 * Open the room for one list.
 * @param ctx the cordis context.
 * @param dsh the build's door (`openDsh`).
 * @param now a monotone clock in whole milliseconds.
 */
export function openRoom(ctx, dsh, now = () => Math.round(performance.now())) {
  return {
    ctx,
    dsh,
    now,
    sessions: new Map(),
    prompts: new Map(),
    jobs: new Map(),
    calls: 0,
    contributors: new Map(),
    backends: new Map(),
    environment: undefined,
  }
}

/** The handle created under a name, or an error that lists the names there are. */
export function named(map, kind, name) {
  const found = map.get(name)
  if (found === undefined) throw new ReferenceError(`no ${kind} named "${name}"; there is: ${[...map.keys()].join(', ') || '(none)'}`)
  return found
}

/** Keep a handle under a new name; using a name twice hides the first, so it is refused. */
export function keep(map, kind, name, handle) {
  if (typeof name !== 'string' || name === '') throw new TypeError(`a ${kind} needs a name`)
  if (map.has(name)) throw new ReferenceError(`the ${kind} name "${name}" is taken`)
  map.set(name, handle)
}

//! A persistence backend that stores nothing and only answers where a log would be; used by `persistence_stub`.
//! Must never touch the disk, and never pretend that a session can be loaded.

/**
 * Make the class over the build's own service definition.
 * @param SessionPersistence the definition exported by dsh.
 * @returns a class whose instances register as `ctx.sessionPersistence`.
 */
export function stubBackendClass(SessionPersistence) {
  return class StubSessionPersistence extends SessionPersistence {
    supportsRawArtifacts = false

    constructor(ctx, location) {
      super(ctx)
      // Not a private field: dsh hands services out behind a proxy, which has none.
      this.location = location
    }

    locate() {
      return this.location
    }

    /** Later builds hold a write handle per session; earlier ones ignore the answer. */
    async create(header) {
      return { id: header.id, header, append: nothing, flush: nothing, close: nothing, [Symbol.asyncDispose]: nothing }
    }

    append = nothing
    flush = nothing
    stat = nothing

    async list() {
      return []
    }

    async listSnapshots() {
      return []
    }

    async load(id) {
      throw new Error(`the stub backend stores nothing, so session "${id}" cannot be loaded`)
    }

    open = this.load
    inspect = this.load
    readFrom = this.load
  }
}

async function nothing() {}

// A stand-in for the SDK's client, small enough to read.
// Used by the tests. As in client 2.x, `request` sits on a parent class.
class Protocol {
  waiting = new Map()
  nextId = 0

  async connect(transport, options) {
    this.transport = transport
    transport.onmessage = (frame) => this.waiting.get(frame.id)?.(frame)
    transport.onclose = () => {
      for (const settle of this.waiting.values()) settle({ error: { message: 'Connection closed' } })
      this.onclose?.()
    }
    await transport.start()
    await this.request({ method: 'initialize', params: { clientInfo: this.info, capabilities: {} } }, undefined, options)
    transport.send({ method: 'notifications/initialized' })
  }

  request(message, schema, options) {
    const id = this.nextId++
    return new Promise((resolve, reject) => {
      options?.signal?.throwIfAborted()
      options?.signal?.addEventListener('abort', () => reject(new Error('aborted')))
      const bound = setTimeout(() => reject(new Error('Request timed out')), options?.timeout ?? 60_000).unref()
      this.waiting.set(id, (frame) => {
        clearTimeout(bound)
        this.waiting.delete(id)
        if (frame.error) reject(new Error(frame.error.message))
        else resolve(schema ? schema.parse(frame.result) : frame.result)
      })
      this.transport.send({ ...message, id })
    })
  }

  close() {
    return this.transport?.close()
  }
}

export class Client extends Protocol {
  constructor(info) {
    super()
    this.info = info
  }
}

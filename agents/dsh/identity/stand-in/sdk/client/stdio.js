// A stand-in for the SDK's stdio transport: newline-framed JSON over a child.
// Used by the tests with ./index.js; keeps the fields the plugin reads.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export class StdioClientTransport {
  constructor(params) {
    this._serverParams = params
  }

  async start() {
    const { command, args, env, cwd } = this._serverParams
    this.child = spawn(command, args, { env, cwd, stdio: ['pipe', 'pipe', 'inherit'] })
    this.ended = new Promise((resolve) => this.child.once('close', resolve)).then(() => this.onclose?.())
    await new Promise((resolve, reject) => this.child.once('spawn', resolve).once('error', reject))
    this.child.stdin.on('error', () => {})
    createInterface({ input: this.child.stdout }).on('line', (line) => this.onmessage(JSON.parse(line)))
  }

  send(frame) {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...frame })}\n`)
  }

  async close() {
    if (this.child?.pid === undefined) return
    this.child.stdin.end()
    await this.ended
  }
}

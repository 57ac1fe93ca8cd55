import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { releaseBuffer } from '../buffers/release-buffer.ts';
import { guarded } from '../faults/guarded.ts';

// Node parses a whole packet at once: 64 KiB hold 2,000 requests, which all start in one turn of the event loop, ahead of every other
// connection. Here a connection has one request in flight. The parser gets the bytes up to the end of one request. The rest waits, and the
// socket is paused, until that request was answered and the event loop has gone round once. While the loop is busy the next request waits
// 10 ms: each turn is a step of other connections' requests, and ten thousand wait here.

/** How many pieces of one connection are parsed in one turn: a chunked body can consist of very small ones. */
const piecesPerTurn = 64;

/** The pause between two pipelined requests of one connection while the event loop is busy. */
const busyPauseMs = 10;

/** A packet of this size is worth releasing early. */
const largeBytes = 16_384;

const endOfHead = Buffer.from('\r\n\r\n');

/** Node's internals of a socket. */
type NodeSocket = Socket & { parser?: unknown; _paused?: boolean };

type Parse = (piece: Buffer) => void;

class Connection {
  readonly #socket: NodeSocket;
  /** Node's own data listener. */
  readonly #parse: Parse;
  readonly #handle: RequestListener;
  readonly #isBusy: () => boolean;
  /** Bytes read and not parsed yet. Never more than a few packets: the socket is paused meanwhile. */
  #rest: Buffer | undefined;
  /** The latest request. It is in flight until its response is complete. */
  #request: IncomingMessage | undefined;
  #response: ServerResponse | undefined;
  /** Bytes of its body still to come, by its Content-Length. */
  #bodyLeft = 0;
  /** How much of an empty line the previous packet ended with. */
  #partialEnd = 0;
  /** Requests that were parsed while one was in flight: the parser may find an end where `#cut` finds none. */
  readonly #waiting: [IncomingMessage, ServerResponse][] = [];
  #isScheduled = false;
  #isWatching = false;
  #isPaused = false;
  #isOver = false;
  /** Returns the socket to node. */
  readonly #removeListeners: () => void;
  /** Later work must not run in the context of the answered request. */
  readonly #inOwnContext = AsyncLocalStorage.snapshot();

  constructor(socket: Socket, parse: Parse, handle: RequestListener, isBusy: () => boolean) {
    this.#socket = socket;
    this.#parse = parse;
    this.#handle = handle;
    this.#isBusy = isBusy;
    const take = guarded('http.pipelining.data', socket, (packet: Buffer) => this.#append(packet));
    const resumed = guarded('http.pipelining.resume', socket, () => this.#schedule({ mayPause: !this.#isInFlight() }));
    socket.on('data', take).on('resume', resumed);
    this.#removeListeners = () => void socket.off('data', take).off('resume', resumed);
  }

  #append(packet: Buffer): void {
    this.#rest = this.#rest ? Buffer.concat([this.#rest, packet]) : packet;
    this.#feed();
  }

  /** Starts a request, or queues it behind the one in flight. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    if (this.#isInFlight()) {
      this.#waiting.push([request, response]);
      this.#watch();
      return;
    }
    this.#request = request;
    this.#response = response;
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    this.#bodyLeft = length === undefined || encoding !== undefined ? 0 : Number(length);
    this.#handle(request, response);
  }

  /** Stops parsing: the bytes are not HTTP, or no longer. */
  stop(): void {
    this.#isOver = true;
    this.#rest = undefined;
  }

  /** Continues in a later turn, if anything waits. */
  #schedule({ mayPause = false } = {}): void {
    if (this.#isScheduled || (this.#rest === undefined && this.#waiting.length === 0)) return;
    this.#isScheduled = true;
    const turn = () => {
      this.#isScheduled = false;
      this.#inOwnContext(() => this.#takeTurn());
    };
    if (mayPause && this.#isBusy()) setTimeout(turn, busyPauseMs);
    else setImmediate(turn);
  }

  #takeTurn(): void {
    if (this.#waiting.length === 0) this.#feed();
    else if (this.#isInFlight()) this.#watch();
    else {
      this.begin(...this.#waiting.shift()!);
      this.#schedule({ mayPause: true });
    }
  }

  #isInFlight(): boolean {
    return this.#response !== undefined && !this.#response.writableFinished && !this.#response.destroyed;
  }

  /** Most requests come alone, so their end is watched only on demand. */
  #watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const goOn = () => {
      this.#isWatching = false;
      this.#schedule({ mayPause: true });
    };
    this.#response!.once('close', guarded('http.pipelining.answered', this.#socket, goOn));
  }

  /** Parses the buffered bytes up to the end of one request. */
  #feed(): void {
    const packet = this.#rest;
    if (packet === undefined) return;
    let at = 0;
    for (let pieces = 0; at < packet.length && this.#isParsed(); pieces++) {
      const isEnough = pieces >= piecesPerTurn;
      if (this.#mustWait() || isEnough) {
        this.#wait(packet.subarray(at));
        if (isEnough) this.#schedule();
        return;
      }
      const end = this.#cut(packet, at);
      this.#parse(at === 0 && end === packet.length ? packet : packet.subarray(at, end));
      at = end;
      if (this.#isHandedOver()) {
        this.#release(packet.subarray(at));
        return;
      }
    }
    this.#rest = undefined;
    if (packet.length >= largeBytes) releaseBuffer(packet);
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  /** A complete request is not answered yet; or node pauses parsing until its output has left. */
  #mustWait(): boolean {
    if (this.#socket._paused === true) return true; // node resumes the socket then
    if (!this.#isInFlight() || !(this.#request!.complete || this.#waiting.length > 0)) return false;
    this.#watch();
    return true;
  }

  #wait(rest: Buffer): void {
    this.#rest = rest;
    this.#isPaused = true;
    this.#socket.pause();
  }

  /** Node has released the socket: from here on it carries another protocol. */
  #isHandedOver(): boolean {
    return !this.#isOver && !this.#socket.destroyed && this.#socket.parser == null;
  }

  /** The bytes after the last request belong to the listener that took over the socket, and reach it first. */
  #release(rest: Buffer): void {
    this.stop();
    this.#removeListeners();
    if (rest.length > 0 && !this.#socket.readableEnded) this.#socket.unshift(rest);
    if (this.#isPaused && this.#socket.listenerCount('data') > 0) this.#socket.resume();
  }

  #isParsed(): boolean {
    return !this.#isOver && !this.#socket.destroyed && this.#socket.parser != null;
  }

  /** Where the next piece ends: with a body of known length, behind an empty line, or with the packet. At most one request ends in it. */
  #cut(packet: Buffer, at: number): number {
    if (this.#bodyLeft > 0 && this.#request?.complete === false) {
      const end = Math.min(packet.length, at + this.#bodyLeft);
      this.#bodyLeft -= end - at;
      return end;
    }
    const missing = endOfHead.subarray(this.#partialEnd);
    const isGoingOn = this.#partialEnd > 0 && missing.equals(packet.subarray(at, at + missing.length));
    const found = isGoingOn ? at - this.#partialEnd : packet.indexOf(endOfHead, at);
    const isWhole = isGoingOn || found >= 0;
    this.#partialEnd = isWhole ? 0 : partialEndOfHead(packet.subarray(at), this.#partialEnd);
    return isWhole ? found + endOfHead.length : packet.length;
  }
}

/** How much of an empty line the bytes end with; `before`: the same for the bytes before them. */
function partialEndOfHead(bytes: Buffer, before: number): number {
  const end = Buffer.concat([endOfHead.subarray(0, before), bytes.subarray(-endOfHead.length)]);
  for (let length = Math.min(end.length, endOfHead.length - 1); length > 0; length--)
    if (end.subarray(-length).equals(endOfHead.subarray(0, length))) return length;
  return 0;
}

/** Limits each connection of a server to one request in flight. */
export function onePerConnection(handle: RequestListener, isBusy: () => boolean = () => false) {
  const connections = new WeakMap<Socket, Connection>();
  return {
    listener: ((request, response) => {
      const connection = connections.get(request.socket);
      if (connection) connection.begin(request, response);
      else handle(request, response);
    }) as RequestListener,
    /**
     * Called after node's own connection listener is attached. The server needs its own `clientError` listener: node closes a connection
     * with invalid HTTP only if there is none.
     */
    watch(server: Server, event: 'connection' | 'secureConnection'): void {
      const takeOver = (socket: Socket) => {
        const [parse] = socket.listeners('data') as Parse[];
        if (!parse) return;
        socket.removeListener('data', parse);
        // Node sees a data listener, and delivers the bytes here instead of to its parser.
        connections.set(socket, new Connection(socket, parse, handle, isBusy));
      };
      const stop = (_: Error, socket: Duplex) => connections.get(socket as Socket)?.stop();
      server.on(
        event,
        guarded('http.pipelining.connection', ([socket]) => socket, takeOver),
      );
      server.on(
        'clientError',
        guarded('http.pipelining.client-error', ([, socket]) => socket, stop),
      );
    },
  };
}

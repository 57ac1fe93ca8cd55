import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { guarded } from '../faults/guarded.ts';
import { releaseBuffer } from '../release-buffer.ts';

// Node parses everything that a packet brings at once: 64 KiB hold 2,000 requests, which all begin in one turn of the event loop, ahead of
// every other connection. Here a connection has one request in hand. Its bytes are given to the parser up to the end of one request; the rest
// waits, and nothing more is read from the socket, until that request was answered and the event loop has gone round once. While the loop is
// busy the next request waits for some milliseconds: each turn is a step of other connections' requests, and ten thousand wait here.

/** How many pieces of one connection are parsed in one turn: a chunked body can be cut into very small ones. */
const piecesInATurn = 64;

/** Between two requests that one connection has sent without waiting for an answer, while the event loop is busy. */
const busyPauseMs = 10;

/** A packet of this size is worth giving back. */
const largeBytes = 16_384;

const endOfHead = Buffer.from('\r\n\r\n');

/** What node's server keeps at a socket. */
type NodeSocket = Socket & { parser?: unknown; _paused?: boolean };

type Parse = (piece: Buffer) => void;

class Connection {
  readonly #socket: NodeSocket;
  /** Node's own listener for data. */
  readonly #parse: Parse;
  readonly #handle: RequestListener;
  readonly #isBusy: () => boolean;
  /** What was read and not parsed yet. Never more than a few packets: the socket is paused meanwhile. */
  #rest: Buffer | undefined;
  /** The request that was begun last. It is in hand until its answer is complete. */
  #request: IncomingMessage | undefined;
  #response: ServerResponse | undefined;
  /** Bytes of its body that are still to come, by its Content-Length. */
  #bodyLeft = 0;
  /** How much of an empty line the packet before ended with. */
  #begun = 0;
  /** Requests that were parsed although one was in hand: the parser may see an end where `#cut` sees none. */
  readonly #waiting: [IncomingMessage, ServerResponse][] = [];
  #isScheduled = false;
  #isWatching = false;
  #isPaused = false;
  #isOver = false;
  /** Gives the socket back to node. */
  readonly #unhear: () => void;
  /** What is done later is not done in the name of the request that was answered. */
  readonly #inOwnName = AsyncLocalStorage.snapshot();

  constructor(socket: Socket, parse: Parse, handle: RequestListener, isBusy: () => boolean) {
    this.#socket = socket;
    this.#parse = parse;
    this.#handle = handle;
    this.#isBusy = isBusy;
    const take = guarded('http.pipelining.data', socket, (packet: Buffer) => this.#hold(packet));
    const resumed = guarded('http.pipelining.resume', socket, () => this.#goOn({ mayPause: !this.#isInHand() }));
    socket.on('data', take).on('resume', resumed);
    this.#unhear = () => void socket.off('data', take).off('resume', resumed);
  }

  #hold(packet: Buffer): void {
    this.#rest = this.#rest ? Buffer.concat([this.#rest, packet]) : packet;
    this.#feed();
  }

  /** Begins a request, or lets it wait for the one that is in hand. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    if (this.#isInHand()) {
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

  /** Nothing more is parsed: it was no HTTP, or is no longer. */
  stop(): void {
    this.#isOver = true;
    this.#rest = undefined;
  }

  /** Goes on in a later turn, if anything waits. */
  #goOn({ mayPause = false } = {}): void {
    if (this.#isScheduled || (this.#rest === undefined && this.#waiting.length === 0)) return;
    this.#isScheduled = true;
    const turn = () => {
      this.#isScheduled = false;
      this.#inOwnName(() => this.#takeTurn());
    };
    if (mayPause && this.#isBusy()) setTimeout(turn, busyPauseMs);
    else setImmediate(turn);
  }

  #takeTurn(): void {
    if (this.#waiting.length === 0) this.#feed();
    else if (this.#isInHand()) this.#watch();
    else {
      this.begin(...this.#waiting.shift()!);
      this.#goOn({ mayPause: true });
    }
  }

  #isInHand(): boolean {
    return this.#response !== undefined && !this.#response.writableFinished && !this.#response.destroyed;
  }

  /** Most requests come alone, and nobody has to be told of their end. */
  #watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const goOn = () => {
      this.#isWatching = false;
      this.#goOn({ mayPause: true });
    };
    this.#response!.once('close', guarded('http.pipelining.answered', this.#socket, goOn));
  }

  /** Parses what was read, as far as the end of one request. */
  #feed(): void {
    const packet = this.#rest;
    if (packet === undefined) return;
    let at = 0;
    for (let pieces = 0; at < packet.length && this.#isParsed(); pieces++) {
      const isEnough = pieces >= piecesInATurn;
      if (this.#mustWait() || isEnough) {
        this.#wait(packet.subarray(at));
        if (isEnough) this.#goOn();
        return;
      }
      const end = this.#cut(packet, at);
      this.#parse(at === 0 && end === packet.length ? packet : packet.subarray(at, end));
      at = end;
      if (this.#isHandedOver()) {
        this.#leave(packet.subarray(at));
        return;
      }
    }
    this.#rest = undefined;
    if (packet.length >= largeBytes) releaseBuffer(packet);
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  /** One request that has come whole is not answered yet. Or node lets nothing be parsed until what it has written has left. */
  #mustWait(): boolean {
    if (this.#socket._paused === true) return true; // it resumes the socket then
    if (!this.#isInHand() || !(this.#request!.complete || this.#waiting.length > 0)) return false;
    this.#watch();
    return true;
  }

  #wait(rest: Buffer): void {
    this.#rest = rest;
    this.#isPaused = true;
    this.#socket.pause();
  }

  /** Node has let go of the socket: from here on it speaks something else than HTTP. */
  #isHandedOver(): boolean {
    return !this.#isOver && !this.#socket.destroyed && this.#socket.parser == null;
  }

  /** The bytes behind the last request belong to the listener that took the socket over, and reach it first. */
  #leave(rest: Buffer): void {
    this.stop();
    this.#unhear();
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
    const missing = endOfHead.subarray(this.#begun);
    const isGoingOn = this.#begun > 0 && missing.equals(packet.subarray(at, at + missing.length));
    const found = isGoingOn ? at - this.#begun : packet.indexOf(endOfHead, at);
    const isWhole = isGoingOn || found >= 0;
    this.#begun = isWhole ? 0 : begunIn(packet.subarray(at), this.#begun);
    return isWhole ? found + endOfHead.length : packet.length;
  }
}

/** How much of an empty line some bytes end with; `before`: how much of one those before them did. */
function begunIn(bytes: Buffer, before: number): number {
  const end = Buffer.concat([endOfHead.subarray(0, before), bytes.subarray(-endOfHead.length)]);
  for (let length = Math.min(end.length, endOfHead.length - 1); length > 0; length--)
    if (end.subarray(-length).equals(endOfHead.subarray(0, length))) return length;
  return 0;
}

/** Lets each connection of a server have one request in hand. */
export function paceRequests(handle: RequestListener, isBusy: () => boolean = () => false) {
  const connections = new WeakMap<Socket, Connection>();
  return {
    listener: ((request, response) => {
      const connection = connections.get(request.socket);
      if (connection) connection.begin(request, response);
      else handle(request, response);
    }) as RequestListener,
    /** After node's own listener for connections, which is there from the start. The server needs a listener for `clientError` of its own:
     *  node closes a connection that speaks no HTTP only if there is none. */
    watch(server: Server, event: 'connection' | 'secureConnection'): void {
      const takeOver = (socket: Socket) => {
        const [parse] = socket.listeners('data') as Parse[];
        if (!parse) return;
        socket.removeListener('data', parse);
        // Node sees that somebody listens, and hands the bytes to us instead of to its parser.
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

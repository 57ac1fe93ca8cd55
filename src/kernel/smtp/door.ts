import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { SMTPServerDataStream } from 'smtp-server';
import { exitCodes, Refusal, Stop } from '../errors.ts';
import type { Logger } from '../log.ts';
import { Reply, replyFor } from './reply.ts';
import type { CountedConnection, CountedServer } from './server.ts';

export type Answer = (error: Error | null, given?: unknown) => void;

/** The library's callbacks hand over, and do nothing themselves: what they throw would end the process. `door` names it in the log. */
export function handOver<T>(log: Logger, door: string, work: () => Promise<T>, answer: Answer): void {
  work()
    .then(
      (given) => answer(null, given),
      (error: unknown) => {
        if (!(error instanceof Reply || error instanceof Refusal || isGone(error)))
          log.error({ err: error, door }, 'mail was not taken in');
        answer(replyFor(error));
      },
    )
    .catch((err: unknown) => log.error({ err, door }, 'an SMTP door could not answer'));
}

/** The client closed the connection while it sent its message: nobody is left to tell. */
const isGone = (error: unknown) => ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNECTION'].includes((error as NodeJS.ErrnoException).code ?? '');

/** Says why, and closes the connection, unless the timer is cleared before. */
export const cutAfter = (connection: CountedConnection, ms: number, why: string): NodeJS.Timeout =>
  setTimeout(() => connection.send(421, `4.4.2 ${why}`), ms).unref();

/** A refused message is read to its end, so that its client hears why; one that does not end is cut off. */
export function drainRest(connection: CountedConnection, stream: SMTPServerDataStream, mostBytes: number): void {
  if (stream.readableEnded) return;
  let left = mostBytes;
  stream.on('data', (piece: Buffer) => {
    left -= piece.length;
    if (left < 0) connection.send(421, '4.3.4 the message does not end');
  });
  stream.resume();
}

/** The port it listens on. `settings` are named to whoever must choose another one. */
export async function listenAt(server: CountedServer, { host, port }: { host: string; port: number }, settings: string): Promise<number> {
  server.listen(port, host);
  await once(server.server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw new Stop(exitCodes.portTaken, `cannot take mail in on ${host}:${port} (${error.code}); set ${settings} to another address`);
  });
  return (server.server.address() as AddressInfo).port;
}

/** Those who wait for nothing are told at once; what is under way may finish. */
export const closeServer = (server: CountedServer): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    for (const connection of server.connections)
      if (!connection._handlerPending && !connection._dataStream) connection.send(421, '4.3.2 the server stops; come again in a moment');
  });

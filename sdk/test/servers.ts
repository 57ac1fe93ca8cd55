import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/** A server on loopback that answers as the test has it; gone with the test. */
export async function answering(t: TestContext, answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export interface Link {
  url: string;
  /** Method and path of everything that came through. */
  seen: string[];
  /** How many of the next answers are lost on the way back, after the server has done its work. */
  loseAnswers(count: number): void;
}

/** A connection to a real server that can break in the worst moment: when the work is done and nobody has been told. */
export async function brittleLink(t: TestContext, to: string): Promise<Link> {
  let lost = 0;
  const seen: string[] = [];
  const url = await answering(t, (incoming, outgoing) => {
    seen.push(`${incoming.method} ${incoming.url}`);
    const onward = request(`${to}${incoming.url}`, { method: incoming.method!, headers: incoming.headers }, (answer) => {
      if (lost > 0) {
        lost--;
        answer.resume().once('end', () => outgoing.destroy());
      } else {
        outgoing.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(outgoing);
      }
    });
    incoming.pipe(onward);
  });
  return {
    url,
    seen,
    loseAnswers: (count) => {
      lost = count;
    },
  };
}

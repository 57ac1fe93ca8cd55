import { setTimeout as sleep } from 'node:timers/promises';
import { type LiveEvent, readEvents, UnreachableError } from '../sdk/index.ts';
import { exitCodes, Failure } from './exit.ts';
import { lookOf, machineTime } from './output/look.ts';
import { harmless } from './print.ts';
import { printable } from './printable.ts';
import { tell } from './tell.ts';

interface Following {
  ask: () => Promise<Response>;
  json?: boolean | undefined;
  out?: NodeJS.WriteStream;
  /** Between two tries; the server may ask for longer. */
  pauseMs?: number;
}

/** A line for each hint, until Ctrl-C. A server that stops is waited for; one that refuses ends it. */
export async function followEvents({ ask, json = false, out = process.stdout, pauseMs = 5_000 }: Following): Promise<never> {
  const look = lookOf(out, process.env);
  const line = (event: LiveEvent) => (json ? harmless(JSON.stringify(event), look) : lineOf(event));
  let response = await ask();
  for (;;) {
    const { waitMs, why } = await printUntilItEnds(response, (event) => void out.write(`${line(event)}\n`), pauseMs);
    tell(`${why}; coming back in ${Math.ceil(waitMs / 1000)} s. Hints of the time between are missing`);
    await sleep(waitMs);
    response = await askUntilThere(ask, pauseMs);
  }
}

async function printUntilItEnds(response: Response, print: (event: LiveEvent) => void, pauseMs: number) {
  try {
    for await (const event of readEvents(response)) {
      if (event.name === 'beat') continue;
      if (event.name === 'refused') throw refusal(event);
      if (event.name === 'bye') return { waitMs: Math.max(pauseMs, Number(event.data['retryAfterMs']) || 0), why: 'the server stops' };
      print(event);
    }
  } catch (error) {
    if (error instanceof Failure || error instanceof UnreachableError) throw error;
  }
  return { waitMs: pauseMs, why: 'the stream broke off' };
}

async function askUntilThere(ask: () => Promise<Response>, pauseMs: number): Promise<Response> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Failure && error.exitCode === exitCodes.unavailable)) throw error;
      tell(`${error.message}; asking again`);
      await sleep(pauseMs);
    }
  }
}

const refusal = ({ data: { status, error } }: LiveEvent) =>
  new Failure(
    status === 401 ? exitCodes.unauthenticated : status === 403 ? exitCodes.forbidden : exitCodes.refused,
    printable(String(error)),
  );

/** `12:00:00 changed oncall.incident oncall.schedule`; nothing that a server sends steers the terminal. */
function lineOf({ name, data }: LiveEvent): string {
  const kinds = Array.isArray(data['kinds']) ? data['kinds'].map(String) : [];
  const at = new Date(machineTime()).toISOString().slice(11, 19);
  return printable([at, name, ...kinds].join(' ')).replaceAll(/\s+/g, ' ');
}

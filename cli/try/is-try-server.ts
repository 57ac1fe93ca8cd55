import { isThisMachine } from '../origin.ts';

/** What a server that was started with --try is called, wherever one is named. */
export const trySentence = 'for trying (serve --try): nothing leaves this machine';

const timeoutMs = 1_000;

/** Only a server of this machine can be one. No token is sent; a server without an answer is none. */
export async function isTryServer(url: string): Promise<boolean> {
  if (!isThisMachine(url)) return false;
  const signal = AbortSignal.timeout(timeoutMs);
  const about: unknown = await fetch(`${url}/try/about.json`, { redirect: 'error', signal })
    .then((answer) => (answer.ok ? answer.json() : undefined))
    .catch(() => undefined);
  return (about as { try?: unknown } | undefined)?.try === true;
}

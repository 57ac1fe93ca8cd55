import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { GrowingBuffer } from '../../../kernel/buffers/growing-buffer.ts';
import { guarded } from '../../../kernel/faults/guarded.ts';
import type { TlsOptions } from '../../../kernel/guard/index.ts';
import { type Guard, GuardFailure } from '../../../kernel/guard/index.ts';
import type { TcpTarget } from '../../../protocols/agent.ts';
import { expiryOf } from './certificate.ts';
import { snippetOf } from './expectations.ts';
import { errorOf, fail, type Observation, PhaseSums, round } from './observation.ts';

export interface TcpCheck {
  readonly target: TcpTarget;
  readonly timeoutMs: number;
  readonly tls?: TlsOptions;
}

/** Connects, makes the TLS handshake if asked to, sends the given bytes, and compares the beginning of the answer. */
export async function checkTcp(guard: Guard, { target, timeoutMs, tls }: TcpCheck): Promise<Observation> {
  const started = performance.now();
  const phases = new PhaseSums();
  const seen: Pick<Observation, 'tlsVersion' | 'certificateUntil' | 'family'> = {};
  const observe = (rest: Omit<Observation, 'latencyMs' | 'phases'>): Observation => ({
    ...rest,
    ...seen,
    latencyMs: round(performance.now() - started),
    phases: phases.rounded(),
  });
  const answer = new GrowingBuffer();
  try {
    const dialing = { connectMs: timeoutMs, onPhase: phases.add };
    const connection = target.tls
      ? await guard.connectTls('uptime', target.host, target.port, { ...dialing, tls: tls ?? {} })
      : await guard.connectTcp('uptime', target.host, target.port, dialing);
    const { socket, family, certificate } = connection;
    try {
      seen.family = family;
      if (target.tls) {
        seen.tlsVersion = (socket as TLSSocket).getProtocol() ?? undefined;
        seen.certificateUntil = expiryOf(certificate);
      }
      const isExpected = await exchange(socket, target, started + timeoutMs - performance.now(), answer, phases);
      if (isExpected) return observe({ outcome: 'pass' });
      const sentence = answer.length === 0 ? 'closed the connection without a word' : 'answered with something else than was expected';
      return observe({ ...fail('prefix_mismatch', `${target.host} ${sentence}`), snippet: snippetOf(answer.bytes()) });
    } finally {
      socket.destroy();
    }
  } catch (error) {
    const verdict = errorOf(error);
    if (verdict === null) throw error;
    return observe({ ...verdict, snippet: snippetOf(answer.bytes()) });
  }
}

/** Whether the answer begins as expected. Waits for as many bytes as expected, and for none when nothing is expected. */
function exchange(socket: Socket, target: TcpTarget, leftMs: number, answer: GrowingBuffer, phases: PhaseSums): Promise<boolean> {
  const expected = Buffer.from(target.expectPrefixBase64 ?? '', 'base64');
  const host = target.host;
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const late = setTimeout(
      () => end(() => reject(new GuardFailure('timeout', 'firstByte', `${host} did not answer in time`))),
      Math.max(0, leftMs),
    );
    const end = (settle: () => void) => {
      clearTimeout(late);
      socket.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose);
      settle();
    };
    const onData = guarded('prober.checks.check-tcp.onData', socket, (chunk: Buffer) => {
      if (answer.length === 0) phases.add('firstByte', performance.now() - started);
      const at = answer.length;
      answer.add(chunk.subarray(0, 1024 + expected.length - at));
      const seen = chunk.subarray(0, expected.length - at);
      const isSoFar = seen.equals(expected.subarray(at, at + seen.length));
      if (!isSoFar || answer.length >= expected.length) end(() => resolve(isSoFar));
    });
    const onEnd = guarded('prober.checks.check-tcp.onEnd', socket, () => end(() => resolve(false)));
    const gone = (cause?: unknown) =>
      new GuardFailure('connection_reset', 'firstByte', `${host} closed the connection before the end`, { cause });
    const onError = guarded('prober.checks.check-tcp.onError', socket, (error: Error) => end(() => reject(gone(error))));
    const onClose = guarded('prober.checks.check-tcp.onClose', socket, () => end(() => reject(gone())));
    const sent = guarded('prober.checks.check-tcp.sent', socket, (error?: Error | null) => {
      if (error) onError(error);
      else if (expected.length === 0) end(() => resolve(true));
    });

    if (expected.length > 0) socket.on('data', onData).on('end', onEnd);
    socket.on('error', onError).on('close', onClose);
    if (target.sendBase64 !== undefined) socket.write(Buffer.from(target.sendBase64, 'base64'), sent);
    else sent();
  });
}

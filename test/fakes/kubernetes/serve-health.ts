import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import https from 'node:https';
import { issueCertificate } from '../../../src/kernel/x509/issue.ts';
import { type Flags, refuse } from './flags.ts';
import type { Program } from './program.ts';

/** /healthz of the controller-manager and the scheduler, with a certificate of their own making if none is given. Port 0: none, as with the real ones. */
export async function serveHealth(program: Program, flags: Flags, usualPort: number): Promise<https.Server | undefined> {
  const port = Number(flags.get('secure-port') ?? usualPort);
  if (port === 0) return undefined;
  const host = flags.get('bind-address') ?? '0.0.0.0';
  const cannotListen = (why: string) =>
    refuse(`E run.go:72] "command failed" err="failed to create listener: failed to listen on ${host}:${port}: ${why}"`);
  const given = flags.get('tls-cert-file');
  const server = https.createServer(
    given ? { cert: readFileSync(given), key: readFileSync(flags.get('tls-private-key-file')!) } : signItself(),
    async (request, response) => {
      const { readyz500, neverReady } = await program.misbehaviour();
      const isWell = !readyz500 && !neverReady && ['/healthz', '/livez', '/readyz'].includes(request.url!);
      response.writeHead(isWell ? 200 : 500).end(isWell ? 'ok' : 'not ok');
    },
  );
  server.on('error', (error: NodeJS.ErrnoException) =>
    cannotListen(error.code === 'EADDRINUSE' ? 'bind: address already in use' : error.message),
  );
  if ((await program.misbehaviour()).portTaken) cannotListen('bind: address already in use');
  return server.listen(port, host);
}

function signItself() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const subject = { commonName: 'localhost' };
  const now = performance.timeOrigin + performance.now();
  const cert = issueCertificate({
    subject,
    issuer: subject,
    publicKey,
    signingKey: privateKey,
    usages: ['server'],
    hosts: ['localhost'],
    from: new Date(now - 60_000),
    until: new Date(now + 86_400_000),
  });
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) };
}

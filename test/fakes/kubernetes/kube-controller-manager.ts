import { readFileSync } from 'node:fs';
import { signRequest } from '../../../src/kernel/x509/issue.ts';
import { readSigningRequest } from '../../../src/kernel/x509/request.ts';
import { openClient } from './client.ts';
import { controllerManagerFlags, parseFlags, refuse, requireFlag } from './flags.ts';
import type { KubeObject } from './objects.ts';
import { beginProgram } from './program.ts';
import { serveHealth } from './serve-health.ts';

// The one thing that others wait for: approved certificate requests are signed with the cluster's authority.

const argv = process.argv.slice(2);
const program = await beginProgram('kube-controller-manager', () => {});
const flags = parseFlags('kube-controller-manager', controllerManagerFlags, argv);
const authority = {
  certificate: readFileSync(requireFlag(flags, 'cluster-signing-cert-file'), 'utf8'),
  key: readFileSync(requireFlag(flags, 'cluster-signing-key-file'), 'utf8'),
};
for (const name of ['root-ca-file', 'service-account-private-key-file']) if (flags.get(name)) readFileSync(flags.get(name)!);
const controllers = (flags.get('controllers') ?? '*').split(',');
const longest = secondsOf(flags.get('cluster-signing-duration') ?? '8760h');
const client = openClient(flags);
await serveHealth(program, flags, 10_257);

const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
client.follow(requests, async (request) => {
  const types = (request.status?.conditions ?? []).map(({ type }: { type: string }) => type);
  if (!types.includes('Approved') || types.includes('Denied') || request.status?.certificate || !isRunning('csrsigning')) return;
  const certificate = Buffer.from(sign(request.spec)).toString('base64');
  const signed = { ...request, status: { ...request.status, certificate } };
  await client.ask('PUT', `${requests}/${encodeURIComponent(request.metadata.name)}/status`, signed);
});

function isRunning(name: string): boolean {
  return (
    controllers.includes(name) ||
    controllers.includes(`${name}-controller`) ||
    (controllers.includes('*') && !controllers.includes(`-${name}`))
  );
}

function sign(spec: KubeObject): string {
  const asked = readSigningRequest(Buffer.from(spec.request, 'base64').toString('latin1'));
  if (!asked) return '';
  const now = performance.timeOrigin + performance.now();
  const seconds = Math.min(spec.expirationSeconds ?? longest, longest);
  const usage = spec.usages.includes('server auth') ? 'server' : 'client';
  return signRequest(authority, asked, { usage, from: new Date(now - 300_000), until: new Date(now + seconds * 1000) });
}

/** `168h0m0s`, as Go reads it. */
function secondsOf(text: string): number {
  const units: Record<string, number> = { h: 3_600, m: 60, s: 1 };
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(h|m|s)/g)];
  if (parts.length === 0)
    refuse(`Error: invalid argument "${text}" for "--cluster-signing-duration" flag: time: invalid duration "${text}"`);
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * units[unit!]!, 0);
}

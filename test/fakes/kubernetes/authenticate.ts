import { createPrivateKey, createPublicKey, type KeyObject, sign, timingSafeEqual, verify, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { Flags } from './flags.ts';

// Who asks, in the order of the real one: a front proxy's headers, a certificate, a token; then anonymous.

export interface User {
  username: string;
  uid?: string;
  groups: string[];
  extra?: Record<string, string[]>;
}

export interface Account {
  namespace: string;
  name: string;
  uid: string;
  /** What its token is bound to. */
  secret?: { name: string; uid: string };
}

/** What authentication must look up. */
export interface Lookup {
  accountUid(namespace: string, name: string): Promise<string | undefined>;
  secretUid(namespace: string, name: string): Promise<string | undefined>;
  /** The decoded data of a Secret in kube-system. */
  secret(name: string): Promise<Record<string, string> | undefined>;
}

const certificatesIn = (path: string) =>
  (readFileSync(path, 'utf8').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map(
    (pem) => new X509Certificate(pem),
  );

const listed = (flags: Flags, name: string) => flags.all(name).flatMap((text) => text.split(','));

export interface Authenticator {
  /** Undefined: 401. */
  identify(request: IncomingMessage): Promise<User | undefined>;
  mintToken(account: Account, seconds: number, audiences: readonly string[]): string;
}

export function makeAuthenticator(flags: Flags, lookup: Lookup): Authenticator {
  const clientCas = flags.get('client-ca-file') ? certificatesIn(flags.get('client-ca-file')!) : [];
  const proxyCas = flags.get('requestheader-client-ca-file') ? certificatesIn(flags.get('requestheader-client-ca-file')!) : [];
  const proxyNames = listed(flags, 'requestheader-allowed-names');
  const headers = (kind: string) => listed(flags, `requestheader-${kind}`).map((name) => name.toLowerCase());
  const signingKey = createPrivateKey(readFileSync(flags.get('service-account-signing-key-file')!));
  const accountKeys = [...flags.all('service-account-key-file'), flags.get('service-account-signing-key-file')!].map((path) =>
    createPublicKey(readFileSync(path)),
  );
  const issuer = flags.get('service-account-issuer')!;
  const audiences = listed(flags, 'api-audiences').length > 0 ? listed(flags, 'api-audiences') : [issuer];

  const byHeaders = (request: IncomingMessage, certificate: X509Certificate): User | undefined => {
    if (!isSignedBy(certificate, proxyCas)) return undefined;
    const { commonName } = subjectOf(certificate);
    if (proxyNames.length > 0 && !proxyNames.includes(commonName)) return undefined;
    const valuesOf = (names: string[]) => names.flatMap((name) => request.headersDistinct[name] ?? []);
    const [username] = valuesOf(headers('username-headers'));
    if (!username) return undefined;
    const extra: Record<string, string[]> = {};
    for (const prefix of headers('extra-headers-prefix'))
      for (const [name, values] of Object.entries(request.headersDistinct))
        if (name.startsWith(prefix)) extra[decodeURIComponent(name.slice(prefix.length))] = values ?? [];
    return { username, groups: valuesOf(headers('group-headers')), ...(Object.keys(extra).length > 0 ? { extra } : {}) };
  };

  const byCertificate = (certificate: X509Certificate): User | undefined => {
    if (!isSignedBy(certificate, clientCas)) return undefined;
    const { commonName, organizations } = subjectOf(certificate);
    const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase();
    const extra = { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] };
    return { username: commonName, groups: organizations, extra };
  };

  const byToken = async (token: string): Promise<User | undefined> => {
    const bootstrap = flags.get('enable-bootstrap-token-auth') === 'true' ? /^([a-z0-9]{6})\.([a-z0-9]{16})$/.exec(token) : undefined;
    if (bootstrap) return byBootstrapToken(lookup, bootstrap[1]!, bootstrap[2]!);
    const claims = readToken(token, accountKeys);
    if (claims?.iss !== issuer || claims.exp * 1000 < performance.timeOrigin + performance.now()) return undefined;
    if (![claims.aud].flat().some((each) => audiences.includes(each))) return undefined;
    const { namespace, serviceaccount, secret } = claims['kubernetes.io'];
    if ((await lookup.accountUid(namespace, serviceaccount.name)) !== serviceaccount.uid) return undefined;
    if (secret && (await lookup.secretUid(namespace, secret.name)) !== secret.uid) return undefined;
    return {
      username: `system:serviceaccount:${namespace}:${serviceaccount.name}`,
      uid: serviceaccount.uid,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
    };
  };

  return {
    async identify(request) {
      const certificate = (request.socket as TLSSocket).getPeerX509Certificate?.();
      const protocol = /base64url\.bearer\.authorization\.k8s\.io\.([\w-]+)/.exec(request.headers['sec-websocket-protocol'] ?? '')?.[1];
      const token =
        /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? (protocol && Buffer.from(protocol, 'base64url').toString());
      const user =
        (certificate && (byHeaders(request, certificate) ?? byCertificate(certificate))) ?? (token ? await byToken(token) : undefined);
      if (user) return { ...user, groups: [...user.groups, 'system:authenticated'] };
      // Whoever showed something that is not good is not anonymous.
      if (certificate || token || flags.get('anonymous-auth') === 'false') return undefined;
      return { username: 'system:anonymous', groups: ['system:unauthenticated'] };
    },
    mintToken(account, seconds, wanted) {
      const now = Math.floor((performance.timeOrigin + performance.now()) / 1000);
      return writeToken(signingKey, {
        iss: issuer,
        aud: wanted.length > 0 ? wanted : audiences,
        iat: now,
        nbf: now,
        exp: now + seconds,
        sub: `system:serviceaccount:${account.namespace}:${account.name}`,
        'kubernetes.io': {
          namespace: account.namespace,
          serviceaccount: { name: account.name, uid: account.uid },
          ...(account.secret ? { secret: account.secret } : {}),
        },
      });
    },
  };
}

async function byBootstrapToken(lookup: Lookup, id: string, secret: string): Promise<User | undefined> {
  const data = await lookup.secret(`bootstrap-token-${id}`);
  const kept = Buffer.from(data?.['token-secret'] ?? '');
  if (kept.length !== secret.length || !timingSafeEqual(kept, Buffer.from(secret))) return undefined;
  if (data?.['usage-bootstrap-authentication'] !== 'true') return undefined;
  if (data.expiration && Date.parse(data.expiration) < performance.timeOrigin + performance.now()) return undefined;
  const groups = ['system:bootstrappers', ...(data['auth-extra-groups'] ?? '').split(',').filter(Boolean)];
  return { username: `system:bootstrap:${id}`, groups };
}

/** Good now, for clients, and signed by one of them. */
function isSignedBy(certificate: X509Certificate, authorities: readonly X509Certificate[]): boolean {
  const now = performance.timeOrigin + performance.now();
  if (Date.parse(certificate.validFrom) > now || Date.parse(certificate.validTo) < now) return false;
  if (certificate.keyUsage && !certificate.keyUsage.includes('1.3.6.1.5.5.7.3.2')) return false;
  return authorities.some((authority) => certificate.checkIssued(authority) && certificate.verify(authority.publicKey));
}

function subjectOf(certificate: X509Certificate): { commonName: string; organizations: string[] } {
  const parts = certificate.subject.split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]);
  const valuesOf = (name: string) => parts.filter(([key]) => key === name).map(([, value]) => value!);
  return { commonName: valuesOf('CN')[0] ?? '', organizations: valuesOf('O') };
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const signing = (key: KeyObject) => ({ key, dsaEncoding: 'ieee-p1363' as const });

function writeToken(key: KeyObject, claims: object): string {
  const alg = key.asymmetricKeyType === 'ec' ? 'ES256' : 'RS256';
  const said = `${encode({ alg, kid: 'fake' })}.${encode(claims)}`;
  return `${said}.${sign('sha256', Buffer.from(said), signing(key)).toString('base64url')}`;
}

// biome-ignore lint/suspicious/noExplicitAny: the claims of a token
function readToken(token: string, keys: readonly KeyObject[]): any {
  const [head, body, signature] = token.split('.');
  if (!head || !body || !signature) return undefined;
  const isGood = keys.some((key) => verify('sha256', Buffer.from(`${head}.${body}`), signing(key), Buffer.from(signature, 'base64url')));
  return isGood ? JSON.parse(Buffer.from(body, 'base64url').toString()) : undefined;
}

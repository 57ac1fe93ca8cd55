import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, type X509Certificate } from 'node:crypto';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import tls from 'node:tls';
import { calculateJwkThumbprint, decodeProtectedHeader, type FlattenedJWSInput, flattenedVerify, importJWK, type JWK } from 'jose';
import { issueCertificate, signRequest } from '../../src/kernel/x509/issue.ts';
import { readSigningRequest } from '../../src/kernel/x509/request.ts';

/** A lie in place of the truth. */
export type Lie =
  | 'another name'
  | 'another key'
  | 'expired'
  | 'from tomorrow'
  | 'disordered'
  | 'a root'
  | 'two names'
  | 'no certificate'
  | 'html'
  | 'huge'
  | 'another order'
  | 'elsewhere';

export interface Manner {
  /** Ways to prove a name that it offers. */
  types: string[];
  /** Answers nothing: connections are cut. */
  away: boolean;
  /** Refuses so many of the next nonces. */
  badNonces: number;
  /** Refuses every nonce. */
  neverANonce: boolean;
  /** Seconds that it asks to wait at the next orders; `undefined`: it takes them. */
  rateLimited: number | undefined;
  /** Names that it does not certify. */
  refused: Set<string>;
  lie: Lie | undefined;
  /** Milliseconds that its clock is ahead of this machine's, as the product's is. */
  aheadMs: number;
  lifeMs: number;
  /** How often it says that the certificate is being made. */
  processing: number;
  /** Says of every order that it is in this state. */
  stuck: string | undefined;
  /** The key id and key that it asks for, in base64url. */
  external: { kid: string; hmac: string } | undefined;
  /** Called before each request is answered, and may hold it up. */
  before: (what: string) => void | Promise<void>;
}

interface Account {
  url: string;
  jwk: JWK;
  thumbprint: string;
  contact: string[];
  isRevoked: boolean;
}

interface FakeOrder {
  url: string;
  name: string;
  account: string;
  status: string;
  certificate?: string;
  error?: object;
  authorization: FakeAuthorization;
  polls: number;
}

interface FakeAuthorization {
  url: string;
  status: string;
  challenges: { type: string; url: string; token: string; status: string; error?: object }[];
}

export interface AcmeAuthority {
  /** For QUARTERDECK_ACME_DIRECTORY. */
  directory: string;
  /** Its root, for clients that trust it. */
  root: string;
  manner: Manner;
  /** Where it looks for proofs, on loopback, whatever the name. */
  ports: { http: number; tls: number };
  accounts: Account[];
  orders: FakeOrder[];
  /** Certificates that it issued, by name, newest last. */
  issued: { name: string; pem: string }[];
  /** Every request, as `newOrder` or `challenge`. */
  asked: string[];
  /** How it looked at proofs: `http-01 a.example valid`. */
  looked: string[];
  /** Ends every account: what they ask is refused from now on. */
  revokeAccounts(): void;
}

const dayMs = 86_400_000;

/** A certificate authority on loopback (RFC 8555) with keys of its own: it checks signatures, nonces and proofs, and lies when it is told to. */
export async function acmeAuthority(t: TestContext, ports: AcmeAuthority['ports']): Promise<AcmeAuthority> {
  const authority = makeAuthority(ports);
  const server = http.createServer((request, response) => {
    authority.answer(request, response).catch((error) => {
      response.destroy();
      throw error;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  authority.base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(authority.told, { directory: `${authority.base}/directory` });
}

const newKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pemOf = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }) as string;
const problem = (type: string, detail: string) => ({ type: `urn:ietf:params:acme:error:${type}`, detail });
/** RFC 8555, 7.3.6, has 401. Let's Encrypt and Pebble answer so. */
const deactivated = () => new Refused(403, problem('unauthorized', 'the account is deactivated'));

class Refused extends Error {
  readonly status: number;
  readonly body: object;
  readonly headers: Record<string, string>;

  constructor(status: number, body: object, headers: Record<string, string> = {}) {
    super('refused');
    Object.assign(this, { status, body, headers });
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

interface Signed {
  url: string;
  payload: Record<string, unknown> | undefined;
  account: Account | undefined;
  jwk: JWK;
}

function makeAuthority(ports: AcmeAuthority['ports']) {
  const [rootKeys, middleKeys] = [newKeys(), newKeys()];
  const years = { from: new Date(Date.now() - 365 * dayMs), until: new Date(Date.now() + 3_650 * dayMs) };
  const rootName = { commonName: 'Fake root' };
  const middleName = { commonName: 'Fake intermediate' };
  const authorityCertificate = (subject: { commonName: string }, publicKey: KeyObject) =>
    issueCertificate({ subject, issuer: rootName, publicKey, signingKey: rootKeys.privateKey, isAuthority: true, ...years });
  const root = authorityCertificate(rootName, rootKeys.publicKey);
  const middle = authorityCertificate(middleName, middleKeys.publicKey);

  const manner: Manner = {
    types: ['http-01', 'tls-alpn-01', 'dns-01'],
    away: false,
    badNonces: 0,
    neverANonce: false,
    rateLimited: undefined,
    refused: new Set(),
    lie: undefined,
    aheadMs: 0,
    lifeMs: 90 * dayMs,
    processing: 0,
    stuck: undefined,
    external: undefined,
    before: () => {},
  };
  const nonces = new Set<string>();
  const certificates = new Map<string, string>();
  const told: AcmeAuthority = {
    directory: '',
    root,
    manner,
    ports,
    accounts: [],
    orders: [],
    issued: [],
    asked: [],
    looked: [],
    revokeAccounts: () => {
      for (const account of told.accounts) account.isRevoked = true;
    },
  };
  const self = { base: '', told, answer };

  const newNonce = () => {
    const nonce = randomBytes(12).toString('base64url');
    nonces.add(nonce);
    return nonce;
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url!.slice(1);
    const [what = '', id = ''] = path.split('/');
    if (manner.away) return void request.socket.destroy();
    told.asked.push(what);
    await manner.before(what);
    if (manner.away) return void request.socket.destroy();
    const send = (status: number, body: object | string, headers: Record<string, string> = {}) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const nonce = { 'replay-nonce': newNonce() };
      response
        .writeHead(status, { 'content-type': 'application/json', ...nonce, ...headers })
        .end(request.method === 'HEAD' ? undefined : text);
    };
    try {
      if (what === 'directory') return send(200, directory());
      if (what === 'new-nonce') return send(200, '');
      const signed = await readSigned(request);
      const [status, body, headers] = await handlers[what]!(signed, id);
      if (manner.lie === 'html' && what !== 'new-account') return send(status, '<html>busy</html>', headers);
      if (manner.lie === 'huge' && what !== 'new-account')
        return send(status, { ...(body as object), padding: 'x'.repeat(10 ** 6) }, headers);
      send(status, body, headers);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      send(error.status, error.body, { 'content-type': 'application/problem+json', ...error.headers });
    }
  }

  const directory = () => ({
    newNonce: `${self.base}/new-nonce`,
    newAccount: `${self.base}/new-account`,
    newOrder: manner.lie === 'elsewhere' ? 'http://169.254.169.254/new-order' : `${self.base}/new-order`,
    meta: { externalAccountRequired: manner.external !== undefined },
  });

  async function readSigned(request: IncomingMessage): Promise<Signed> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    if (request.method !== 'POST' || request.headers['content-type'] !== 'application/jose+json')
      throw new Refused(415, problem('malformed', 'post JOSE'));
    const jws = JSON.parse(Buffer.concat(parts).toString()) as FlattenedJWSInput;
    const header = decodeProtectedHeader(jws) as { nonce: string; url: string; kid?: string; jwk?: JWK; alg: string };
    if (manner.neverANonce || manner.badNonces > 0 || !nonces.delete(header.nonce)) {
      manner.badNonces--;
      throw new Refused(400, problem('badNonce', 'this nonce is not known'));
    }
    if (header.url !== `${self.base}${request.url}`) throw new Refused(400, problem('malformed', 'the url of the header is another'));
    const account = told.accounts.find(({ url }) => url === header.kid);
    if (header.kid && !account) throw new Refused(400, problem('accountDoesNotExist', 'there is no such account'));
    if (account?.isRevoked) throw deactivated();
    const jwk = account?.jwk ?? header.jwk!;
    const { payload } = await flattenedVerify(jws, await importJWK(jwk, header.alg));
    return { url: header.url, payload: payload.length ? JSON.parse(Buffer.from(payload).toString()) : undefined, account, jwk };
  }

  type Handled = [status: number, body: object | string, headers?: Record<string, string>];
  const handlers: Record<string, (signed: Signed, id: string) => Handled | Promise<Handled>> = {
    'new-account': async ({ payload, jwk }) => {
      const thumbprint = await calculateJwkThumbprint(jwk);
      const known = told.accounts.find((account) => account.thumbprint === thumbprint);
      if (known?.isRevoked) throw deactivated();
      await checkExternal(payload!, jwk);
      const account = known ?? { url: `${self.base}/account/${told.accounts.length}`, jwk, thumbprint, contact: [], isRevoked: false };
      if (!known) account.contact = payload!['contact'] as string[];
      if (!known) told.accounts.push(account);
      return [known ? 200 : 201, { status: 'valid', contact: account.contact }, { location: account.url }];
    },
    account: ({ payload, account }) => {
      if (payload) account!.contact = payload['contact'] as string[];
      return [200, { status: 'valid', contact: account!.contact }];
    },
    'new-order': ({ payload, account }) => {
      const [{ value: name }] = payload!['identifiers'] as [{ value: string }];
      if (manner.rateLimited !== undefined)
        throw new Refused(429, problem('rateLimited', `too many orders for ${name}`), { 'retry-after': String(manner.rateLimited) });
      if (manner.refused.has(name)) throw new Refused(400, problem('rejectedIdentifier', `the policy forbids ${name}`));
      const order = newOrder(name, account!);
      return [201, shown(order), { location: order.url }];
    },
    order: ({ account }, id) => {
      const order = findOrder(id, account!);
      if (order.status === 'processing' && ++order.polls > manner.processing) issue(order);
      return [200, shown(order), { location: order.url }];
    },
    authorization: ({ account }, id) => [200, authorizationShown(findOrder(id, account!))],
    challenge: ({ account, payload }, id) => {
      const [orderId = '', type = ''] = id.split('.');
      const order = findOrder(orderId, account!);
      const challenge = order.authorization.challenges.find((each) => each.type === type)!;
      if (payload && challenge.status === 'pending') {
        challenge.status = 'processing';
        void verify(order, challenge, account!);
      }
      return [200, challenge];
    },
    finalize: ({ account, payload }, id) => {
      const order = findOrder(id, account!);
      if (order.status !== 'ready') throw new Refused(403, problem('orderNotReady', `it is ${order.status}`));
      const der = Buffer.from(payload!['csr'] as string, 'base64url');
      const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----`;
      const asked = readSigningRequest(pem);
      if (!asked || asked.dnsNames.join() !== order.name) throw new Refused(400, problem('badCSR', 'it is not for the name of the order'));
      certificates.set(order.url, pem);
      order.status = 'processing';
      if (manner.processing === 0) issue(order);
      return [200, shown(order), { location: order.url }];
    },
    certificate: (_signed, id) => [200, certificates.get(id)!, { 'content-type': 'application/pem-certificate-chain' }],
  };

  async function checkExternal(payload: Record<string, unknown>, jwk: JWK): Promise<void> {
    if (!manner.external) return;
    const binding = payload['externalAccountBinding'] as FlattenedJWSInput | undefined;
    if (!binding) throw new Refused(403, problem('externalAccountRequired', 'an account of the customer is needed'));
    const { protectedHeader, payload: bound } = await flattenedVerify(binding, Buffer.from(manner.external.hmac, 'base64url')).catch(() => {
      throw new Refused(403, problem('unauthorized', 'the external account is not yours'));
    });
    const isSame = JSON.stringify(JSON.parse(Buffer.from(bound).toString())) === JSON.stringify(jwk);
    if (!isSame || (protectedHeader as { kid?: string }).kid !== manner.external.kid)
      throw new Refused(403, problem('unauthorized', 'the external account is not yours'));
  }

  function newOrder(name: string, account: Account): FakeOrder {
    const id = String(told.orders.length);
    const challenges = manner.types.map((type) => ({
      type,
      url: `${self.base}/challenge/${id}.${type}`,
      token: randomBytes(24).toString('base64url'),
      status: 'pending',
    }));
    const authorization = { url: `${self.base}/authorization/${id}`, status: 'pending', challenges };
    const order = { url: `${self.base}/order/${id}`, name, account: account.url, status: 'pending', authorization, polls: 0 };
    told.orders.push(order);
    return order;
  }

  const findOrder = (id: string, account: Account): FakeOrder => {
    const order = told.orders[Number(id)];
    if (!order || order.account !== account.url) throw new Refused(404, problem('malformed', 'there is no such order'));
    return order;
  };

  const shown = ({ url, name, status, certificate, error, authorization }: FakeOrder) => ({
    status: manner.stuck ?? status,
    identifiers: [{ type: 'dns', value: manner.lie === 'another order' ? 'other.example' : name }],
    authorizations: [authorization.url],
    finalize: url.replace('/order/', '/finalize/'),
    ...(certificate ? { certificate } : {}),
    ...(error ? { error } : {}),
  });

  const authorizationShown = ({ name, authorization: { status, challenges } }: FakeOrder) => ({
    identifier: { type: 'dns', value: name },
    status,
    challenges,
  });

  /** Looks at the proof as a client of the network would. */
  async function verify(order: FakeOrder, challenge: FakeAuthorization['challenges'][number], account: Account): Promise<void> {
    const expected = `${challenge.token}.${account.thumbprint}`;
    const why = await (challenge.type === 'http-01'
      ? lookByHttp(order.name, challenge.token, expected)
      : lookByTls(order.name, expected)
    ).catch((error: Error) => `could not connect: ${error.message}`);
    told.looked.push(`${challenge.type} ${order.name} ${why ?? 'valid'}`);
    const state = why === undefined ? 'valid' : 'invalid';
    Object.assign(
      challenge,
      { status: state },
      why === undefined ? {} : { error: problem(/connect/.test(why) ? 'connection' : 'unauthorized', why) },
    );
    order.authorization.status = state;
    order.status = why === undefined ? 'ready' : 'invalid';
  }

  const lookByHttp = (name: string, token: string, expected: string) =>
    new Promise<string | undefined>((resolve, reject) => {
      const path = `/.well-known/acme-challenge/${token}`;
      const request = http.get(
        { host: '127.0.0.1', port: told.ports.http, path, headers: { host: name }, agent: false, timeout: 5_000 },
        (response) => {
          const parts: Buffer[] = [];
          response
            .on('data', (part: Buffer) => parts.push(part))
            .on('end', () => {
              const body = Buffer.concat(parts).toString();
              resolve(response.statusCode === 200 && body === expected ? undefined : `found ${response.statusCode} ${body.slice(0, 80)}`);
            });
        },
      );
      request.on('error', reject).on('timeout', () => request.destroy(new Error('timeout')));
    });

  const lookByTls = (name: string, expected: string) =>
    new Promise<string | undefined>((resolve, reject) => {
      const socket = tls.connect({
        host: '127.0.0.1',
        port: told.ports.tls,
        servername: name,
        ALPNProtocols: ['acme-tls/1'],
        rejectUnauthorized: false,
      });
      socket.setTimeout(5_000, () => socket.destroy(new Error('timeout')));
      socket.once('error', reject).once('secureConnect', () => {
        const shownCertificate = socket.getPeerX509Certificate();
        const digest = createHash('sha256').update(expected).digest();
        const isProof = shownCertificate?.raw.includes(Buffer.concat([Buffer.from('06082b0601050507011f0101ff04220420', 'hex'), digest]));
        const isGood = socket.alpnProtocol === 'acme-tls/1' && shownCertificate?.subjectAltName === `DNS:${name}` && isProof;
        socket.destroy();
        resolve(isGood ? undefined : 'the certificate does not prove the name');
      });
    });

  function issue(order: FakeOrder): void {
    const pem = makeChain(order, readSigningRequest(certificates.get(order.url)!)!);
    const id = order.url.slice(order.url.lastIndexOf('/') + 1);
    certificates.set(id, pem);
    told.issued.push({ name: order.name, pem });
    order.status = 'valid';
    order.certificate = `${self.base}/certificate/${id}`;
  }

  function makeChain({ name }: FakeOrder, asked: NonNullable<ReturnType<typeof readSigningRequest>>): string {
    const now = Date.now() + manner.aheadMs;
    const from = new Date(manner.lie === 'from tomorrow' ? now + dayMs : now - (manner.lie === 'expired' ? 91 * dayMs : 0));
    const until = new Date(from.getTime() + manner.lifeMs);
    const validity = { usage: 'server' as const, from, until };
    const by = { certificate: middle, key: pemOf(middleKeys.privateKey) };
    const signing = {
      subject: asked.subject,
      issuer: middleName,
      publicKey: asked.publicKey,
      signingKey: middleKeys.privateKey,
      usages: ['server' as const],
    };
    const leaf =
      manner.lie === 'another name' || manner.lie === 'two names'
        ? issueCertificate({ ...signing, from, until, hosts: [...(manner.lie === 'two names' ? [name] : []), 'other.example'] })
        : manner.lie === 'another key'
          ? issueCertificate({ ...signing, publicKey: newKeys().publicKey, from, until, hosts: [name] })
          : signRequest(by, asked, validity);
    if (manner.lie === 'disordered') return leaf + root + middle;
    if (manner.lie === 'a root') return root;
    return manner.lie === 'no certificate' ? 'nothing here\n' : leaf + middle;
  }

  return self;
}

/** What a TLS server presents to a client that asks for this host; `undefined` names none. */
export async function presentedBy(port: number, servername: string | undefined): Promise<X509Certificate> {
  const socket = tls.connect({
    host: '127.0.0.1',
    port,
    ...(servername ? { servername } : {}),
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
  });
  try {
    await new Promise<void>((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
    return socket.getPeerX509Certificate()!;
  } finally {
    socket.destroy();
  }
}

/** Whether a private key, in PEM, belongs to a certificate. */
export const belongs = (pem: string, certificate: X509Certificate): boolean => certificate.checkPrivateKey(createPrivateKey(pem));

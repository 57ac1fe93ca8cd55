/**
 * The ACME client (RFC 8555): one authority, one account, orders of one name each. It has no state but the directory and the nonces of a run.
 * transport.ts makes the requests, bounded in size and time, through the operator's guard; signing.ts signs them; answers.ts reads what comes back
 * and believes nothing of it; errors.ts has the three ways to fail. A refused nonce is replaced and the request repeated.
 */
import {
  type Authorization,
  type CheckUrl,
  type Directory,
  type Order,
  readAuthorization,
  readDirectory,
  readObject,
  readOrder,
  sameOriginAs,
} from './answers.ts';
import { AuthorityAway, AuthorityLies, AuthorityRefuses, readProblem } from './errors.ts';
import { type AccountKey, bindExternalAccount, signRequest } from './signing.ts';
import type { AcmeTransport, Answer } from './transport.ts';

export type { Authorization, Challenge, Order } from './answers.ts';
export { AuthorityAway, AuthorityLies, AuthorityRefuses } from './errors.ts';
export { type AccountKey, keyAuthorization, newAccountKey, openAccountKey, proofDigest } from './signing.ts';
export { makeTransport } from './transport.ts';

export interface NewAccount {
  contact: string;
  external: { kid: string; hmac: string } | undefined;
}

export interface Acme {
  /** Registers the key, or finds its account; the account's URL. */
  register(key: AccountKey, account: NewAccount): Promise<string>;
  /** As an account of this URL: the requests of a run. */
  as(key: AccountKey, accountUrl: string): AcmeAccount;
}

export interface AcmeAccount {
  /** `valid`, or how the authority says that the account is. */
  readStatus(): Promise<string>;
  /** Another address for the account. */
  changeContact(contact: string): Promise<void>;
  order(name: string): Promise<{ url: string; order: Order }>;
  readOrder(url: string, name: string): Promise<Order>;
  readAuthorization(url: string, name: string): Promise<{ authorization: Authorization; retryAfterSeconds: number }>;
  /** Tells the authority that the proof is ready. */
  startProof(url: string): Promise<void>;
  /** `request`: a signing request in DER. */
  finalize(url: string, name: string, request: Buffer): Promise<Order>;
  /** PEM, as it came. */
  download(url: string): Promise<string>;
}

const maxChainBytes = 131_072;
const maxNonceTries = 5;

export function makeAcme(transport: AcmeTransport, directoryUrl: string): Acme {
  const run: AcmeRun = { transport, directoryUrl, check: sameOriginAs(directoryUrl), directory: undefined, nonces: [] };
  return {
    register: (key, account) => register(run, key, account),
    as: (key, kid) => accountOf(run, key, kid),
  };
}

interface AcmeRun {
  transport: AcmeTransport;
  directoryUrl: string;
  check: CheckUrl;
  directory: Promise<Directory> | undefined;
  /** Unused ones, newest last. */
  nonces: string[];
}

async function register(run: AcmeRun, key: AccountKey, { contact, external }: NewAccount): Promise<string> {
  const { newAccount, needsExternalAccount } = await findDirectory(run);
  if (needsExternalAccount && !external)
    throw new AuthorityRefuses(
      {
        type: 'externalAccountRequired',
        detail: 'it asks for an account of its own; set QUARTERDECK_ACME_EAB_KID and QUARTERDECK_ACME_EAB_HMAC',
      },
      403,
    );
  const payload = {
    termsOfServiceAgreed: true,
    contact: [`mailto:${contact}`],
    ...(external ? { externalAccountBinding: await bindExternalAccount(key, { ...external, url: newAccount }) } : {}),
  };
  const { location, text } = await post(run, newAccount, payload, { key, kid: undefined });
  const { status } = readObject(text, 'an account');
  if (status !== 'valid')
    throw new AuthorityRefuses({ type: 'unauthorized', detail: `our account is ${String(status).slice(0, 30)}` }, 401);
  return run.check(location, 'our account');
}

function accountOf(run: AcmeRun, key: AccountKey, kid: string): AcmeAccount {
  const ask = (url: string, payload?: unknown, options?: PostOptions) => post(run, url, payload, { key, kid, ...options });
  const { check } = run;
  return {
    async readStatus() {
      const { text } = await ask(kid);
      return String(readObject(text, 'an account').status);
    },
    async changeContact(contact) {
      await ask(kid, { contact: [`mailto:${contact}`] });
    },
    async order(name) {
      const { newOrder } = await findDirectory(run);
      const { location, text } = await ask(newOrder, { identifiers: [{ type: 'dns', value: name }] });
      return { url: check(location, 'an order'), order: readOrder(readObject(text, 'an order'), name, check) };
    },
    async readOrder(url, name) {
      const { text } = await ask(url);
      return readOrder(readObject(text, 'an order'), name, check);
    },
    async readAuthorization(url, name) {
      const { text, retryAfterSeconds } = await ask(url);
      return { authorization: readAuthorization(readObject(text, 'a proof'), name, check), retryAfterSeconds };
    },
    async startProof(url) {
      await ask(url, {});
    },
    async finalize(url, name, request) {
      const { text } = await ask(url, { csr: request.toString('base64url') });
      return readOrder(readObject(text, 'an order'), name, check);
    },
    download: async (url) => (await ask(url, undefined, { accept: 'application/pem-certificate-chain', maxBytes: maxChainBytes })).text,
  };
}

interface PostOptions {
  accept?: string;
  maxBytes?: number;
}

/** One signed request. A nonce that the authority does not take (RFC 8555, 6.5) is replaced by the one that it sends. */
async function post(
  run: AcmeRun,
  url: string,
  payload: unknown,
  { key, kid, ...options }: { key: AccountKey; kid: string | undefined } & PostOptions,
): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    const nonce = run.nonces.pop() ?? (await newNonce(run));
    const body = JSON.stringify(await signRequest(key, { url, nonce, kid }, payload));
    const answer = await run.transport(url, { method: 'POST', body, ...options });
    if (answer.nonce) run.nonces.push(answer.nonce);
    const failure = failureOf(answer);
    if (!failure) return answer;
    if (!(failure instanceof AuthorityRefuses) || failure.type !== 'badNonce') throw failure;
    if (tries >= maxNonceTries) throw new AuthorityAway(`the authority took none of ${tries} nonces of its own`);
  }
}

async function newNonce(run: AcmeRun): Promise<string> {
  const { newNonce: url } = await findDirectory(run);
  const answer = await run.transport(url, { method: 'HEAD' });
  if (!answer.nonce) throw failureOf(answer) ?? new AuthorityLies('the authority sends no nonce');
  return answer.nonce;
}

/** Asked for once in a run; not remembered when that fails. */
function findDirectory(run: AcmeRun): Promise<Directory> {
  run.directory ??= (async () => {
    const answer = await run.transport(run.directoryUrl, { method: 'GET' });
    const failure = failureOf(answer);
    if (failure) throw failure;
    return readDirectory(readObject(answer.text, 'a directory'), run.check);
  })().catch((error) => {
    run.directory = undefined;
    throw error;
  });
  return run.directory;
}

function failureOf({ status, text, retryAfterSeconds }: Answer): Error | undefined {
  if (status >= 200 && status < 300) return undefined;
  const problem = readProblem(parse(text));
  if (status >= 500)
    return new AuthorityAway(`the authority answers ${status}${problem.detail ? `: ${problem.detail}` : ''}`, { retryAfterSeconds });
  if (status < 400) return new AuthorityLies(`the authority answers ${status}, which no request of ours expects`);
  return new AuthorityRefuses(problem, status, retryAfterSeconds);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

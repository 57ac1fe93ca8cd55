import { LRUCache } from 'lru-cache';
import type { App } from '../../../kernel/app.ts';
import { boundedTo } from '../../../kernel/bounded-map.ts';
import { guarded } from '../../../kernel/faults/guarded.ts';
import type { CertificateSource } from '../../../kernel/tls/index.ts';
import { wallClock } from '../../../kernel/wall-clock.ts';
import type { Certificate } from '../../../kernel/x509/certificate.ts';
import { makeProofCertificate } from '../../../kernel/x509/issue.ts';
import { proofDigest } from '../clients/acme/index.ts';
import { changesChannel, findKept, listPresented, listProofs, type ProofRow } from '../store/certificates.ts';

export interface Presenter extends CertificateSource {
  stop(): void;
}

/** Changes are told by NOTIFY; what that misses is seen within this time. */
const refreshMs = 30_000;
/** A proof that this process has not heard of yet is looked up, but not more often than this. */
const lookUpEveryMs = 250;
/** Opened keys in memory; others are read again when their host is asked for. */
const maxOpened = 500;

interface Opened {
  issuedAt: string;
  certificate: Certificate;
}

interface PresenterState {
  app: App;
  /** When the certificate of each name was issued. */
  issued: Map<string, string>;
  opened: LRUCache<string, Opened>;
  proofs: ProofRow[];
  /** One certificate for each open TLS proof, by its expected text. */
  proofCertificates: Map<string, Certificate>;
  refreshing: Promise<void> | undefined;
  refreshedAt: number;
  replaced: ((name: string) => void)[];
  isStopped: boolean;
}

/**
 * The certificates and proofs of the database, as this process presents them. Names and open proofs are in memory; keys are opened when their
 * host is first asked for. While the database is away, what was read last is presented.
 */
export async function openPresenter(app: App): Promise<Presenter> {
  const state: PresenterState = {
    app,
    issued: new Map(),
    opened: new LRUCache(boundedTo(maxOpened)),
    proofs: [],
    proofCertificates: new Map(),
    refreshing: undefined,
    refreshedAt: 0,
    replaced: [],
    isStopped: false,
  };
  const refreshQuietly = () => void refresh(state).catch(() => {}); // tried again soon, and by the next handshake
  app.listener.on(changesChannel, guarded('certificates.changes', undefined, refreshQuietly));
  app.listener.onReconnect(refreshQuietly);
  const timer = setInterval(refreshQuietly, refreshMs).unref();
  await refresh(state);
  return {
    has: (name) => state.issued.has(name),
    find: (name) => findOpened(state, name),
    findHttpProof: async (token) => (await findProof(state, (p) => p.proof_type === 'http-01' && p.proof_token === token))?.proof,
    findTlsProof: async (name) => {
      const found = await findProof(state, (p) => p.proof_type === 'tls-alpn-01' && p.name === name);
      return found && proofCertificateOf(state, found);
    },
    onReplaced: (act) => void state.replaced.push(act),
    stop: () => {
      state.isStopped = true;
      clearInterval(timer);
    },
  };
}

/** Callers share one read, but none that began before they asked. */
async function refresh(state: PresenterState): Promise<void> {
  const before = state.refreshing;
  if (before) await before.catch(() => {});
  if (state.isStopped) return;
  state.refreshing ??= readAll(state).finally(() => {
    state.refreshing = undefined;
  });
  await state.refreshing;
}

async function readAll(state: PresenterState): Promise<void> {
  const { presented, proofs } = await state.app.db.read(async (tx) => {
    const [certificates, open] = await Promise.all([listPresented(tx), listProofs(tx)]);
    return { presented: certificates, proofs: open };
  });
  const before = state.issued;
  state.issued = new Map(presented.map(({ name, issued_at }) => [name, issued_at]));
  state.proofs = proofs;
  const expected = new Set(proofs.map(({ proof }) => proof));
  for (const proof of state.proofCertificates.keys()) if (!expected.has(proof)) state.proofCertificates.delete(proof);
  state.refreshedAt = performance.now();
  for (const [name, issuedAt] of state.issued) if (before.get(name) !== issuedAt) for (const act of state.replaced) act(name);
  for (const name of before.keys()) if (!state.issued.has(name)) state.opened.delete(name);
}

/** The newest one; one that cannot be read now leaves the one before. */
async function findOpened({ app, issued, opened }: PresenterState, name: string): Promise<Certificate | undefined> {
  const issuedAt = issued.get(name);
  if (issuedAt === undefined) return undefined;
  const known = opened.get(name);
  if (known?.issuedAt === issuedAt) return known.certificate;
  try {
    const kept = await app.db.read((tx) => findKept(tx, name));
    if (!kept) return known?.certificate;
    const key = app.secrets.unseal(kept.private_key, `certificates.certificate.private_key.${name}`);
    const certificate = { cert: kept.chain, key };
    opened.set(name, { issuedAt: kept.issued_at, certificate });
    return certificate;
  } catch (error) {
    if (known) return known.certificate;
    throw error;
  }
}

/** The authority may come to a process that has not heard of the proof yet. */
async function findProof(state: PresenterState, isAsked: (proof: ProofRow) => boolean): Promise<ProofRow | undefined> {
  const known = state.proofs.find(isAsked);
  if (known) return known;
  const waitMs = state.refreshedAt + lookUpEveryMs - performance.now();
  if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
  await refresh(state);
  return state.proofs.find(isAsked);
}

function proofCertificateOf({ proofCertificates }: PresenterState, { name, proof }: ProofRow): Certificate {
  const known = proofCertificates.get(proof) ?? makeProofCertificate(name, proofDigest(proof), wallClock());
  proofCertificates.set(proof, known);
  return known;
}
